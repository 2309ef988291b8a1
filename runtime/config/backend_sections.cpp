// Converts values to text, the form of options at the plugin ABI.
#include "runtime/config/backend_sections.h"

#include "core/types/text.h"
#include "runtime/config/keras_json_values.h"
#include "runtime/files/quoted_name.h"

#include <array>
#include <charconv>
#include <cmath>

namespace kiln::runtime {
namespace {

std::string string_of(const JsonValue& value) {
  return {value.GetString(), value.GetStringLength()};
}

/// Formats a number: decimal digits for 64-bit integers and for integral doubles below 2^63, such
/// as 8e9; else the shortest text that reads back as the same double.
std::string number_text(const JsonValue& value) {
  if (value.IsInt64()) return std::to_string(value.GetInt64());
  if (value.IsUint64()) return std::to_string(value.GetUint64());
  const double number = value.GetDouble();
  const bool is_whole = std::trunc(number) == number && std::fabs(number) < 0x1p63;
  if (is_whole) return std::to_string(static_cast<std::int64_t>(number));
  std::array<char, 32> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  return {digits.data(), end};
}

const JsonValue& require_object(const std::string& path, const std::string& key,
                                const JsonValue& value) {
  if (!value.IsObject()) throw_mistyped(path, key, value, "an object");
  return value;
}

/// Converts an option's value to text. `key`: its path, such as kiln.backends.cuda.device.
std::string option_text(const std::string& path, const std::string& key, const JsonValue& value) {
  if (value.IsString()) return string_of(value);
  if (value.IsBool()) return value.GetBool() ? "true" : "false";
  if (value.IsNumber()) return number_text(value);
  throw_mistyped(path, key, value, "a string, a number or a boolean");
}

std::string shown(const std::string& key) {
  const std::string quoted = quoted_name(key);
  return quoted.substr(1, quoted.size() - 2);
}

}  // namespace

std::map<std::string, std::map<std::string, std::string>> read_backend_options(
    const std::string& path, const JsonValue& document) {
  std::map<std::string, std::map<std::string, std::string>> backends;
  const JsonValue* section = find_member(document, "kiln");
  if (section == nullptr) return backends;
  for (const auto& member : require_object(path, "kiln", *section).GetObject()) {
    const std::string key = string_of(member.name);
    if (key == "backends") continue;
    throw_config_error(path, text("has kiln.", shown(key), ", but kiln may only have backends"));
  }
  const JsonValue* list = find_member(*section, "backends");
  if (list == nullptr) return backends;
  for (const auto& backend : require_object(path, "kiln.backends", *list).GetObject()) {
    const std::string name = string_of(backend.name);
    const std::string key = text("kiln.backends.", shown(name));
    std::map<std::string, std::string>& options = backends[name];
    options.clear();  // the last of equal keys counts
    for (const auto& option : require_object(path, key, backend.value).GetObject()) {
      const std::string option_name = string_of(option.name);
      options[option_name] = option_text(path, text(key, ".", shown(option_name)), option.value);
    }
  }
  return backends;
}

}  // namespace kiln::runtime
