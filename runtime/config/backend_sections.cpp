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

/// Returns the section `kiln`; null without one.
const JsonValue* kiln_section(const std::string& path, const JsonValue& document) {
  const JsonValue* section = find_member(document, "kiln");
  if (section == nullptr) return nullptr;
  for (const auto& member : require_object(path, "kiln", *section).GetObject()) {
    const std::string key = string_of(member.name);
    if (key == "backend" || key == "backends") continue;
    throw_invalid(path,
                  text("has kiln.", shown(key), ", but kiln may only have backend, backends"));
  }
  return section;
}

OptionSettings option_settings(const std::string& path, const std::string& key,
                               const JsonValue& section) {
  OptionSettings options;  // the last of equal keys counts
  for (const auto& option : require_object(path, key, section).GetObject()) {
    const std::string name = string_of(option.name);
    options[name] = setting_of<std::string>(
        [&] { return option_text(path, text(key, ".", shown(name)), option.value); });
  }
  return options;
}

BackendSettings backend_settings(const std::string& path, const JsonValue& backends) {
  BackendSettings settings;
  for (const auto& backend : require_object(path, "kiln.backends", backends).GetObject()) {
    const std::string name = string_of(backend.name);
    settings[name] = setting_of<OptionSettings>(
        [&] { return option_settings(path, text("kiln.backends.", shown(name)), backend.value); });
  }
  return settings;
}

/// Returns what `read` returns for the member of the section `kiln`; nothing without one.
template <class T, class Read>
Setting<T> member_setting(const std::string& path, const JsonValue& document, const char* key,
                          const Read& read) {
  return setting_of<T>([&]() -> std::optional<T> {
    const JsonValue* section = kiln_section(path, document);
    const JsonValue* value = section == nullptr ? nullptr : find_member(*section, key);
    if (value == nullptr) return std::nullopt;
    return read(*value);
  });
}

}  // namespace

Setting<std::string> read_kiln_backend(const std::string& path, const JsonValue& document) {
  return member_setting<std::string>(path, document, "backend", [&](const JsonValue& value) {
    if (!value.IsString()) throw_mistyped(path, "kiln.backend", value, "a string");
    return string_of(value);
  });
}

Setting<BackendSettings> read_backend_settings(const std::string& path, const JsonValue& document) {
  return member_setting<BackendSettings>(path, document, "backends", [&](const JsonValue& value) {
    return backend_settings(path, value);
  });
}

}  // namespace kiln::runtime
