// Finds keras.json, reads the keys that Kiln knows and checks the type of each value. Callers:
// core/k/base/context.cpp and runtime/plugin/backend_options.cpp.
#include "runtime/config/keras_json.h"

#include "core/types/text.h"
#include "runtime/config/backend_sections.h"
#include "runtime/config/keras_json_values.h"
#include "runtime/files/file_io.h"
#include "runtime/files/json.h"
#include "runtime/files/quoted_name.h"
#include "runtime/host/caller.h"

#include <kiln/error.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

namespace kiln::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxBytes = 1 << 24;

std::string environment(const char* name) {
  const char* value = ::secure_getenv(name);
  return value ? value : "";
}

std::string file_path() {
  const std::string keras_home = environment("KERAS_HOME");
  if (!keras_home.empty()) return (fs::path(keras_home) / "keras.json").string();
  const std::string home = environment("HOME");
  return home.empty() ? "" : (fs::path(home) / ".keras" / "keras.json").string();
}

/// Whether the file does not exist, or KERAS_HOME is not a folder. Any other failure is an error.
bool is_absent(const std::string& path) {
  std::error_code error;
  static_cast<void>(fs::status(path, error));
  return error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
}

std::string contents(const std::string& path) {
  const InputFile file(path);
  if (file.size() > kMaxBytes) {
    file.reject(text("has ", file.size(), " bytes; at most ", kMaxBytes, " are read"));
  }
  std::string result(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(result)));
  if (result.find_first_not_of(" \t\r\n") == result.npos) file.reject("is empty");
  return result;
}

class Reader {
 public:
  Reader(const std::string& path, const JsonValue& object) : path_(path), object_(object) {}

  std::optional<std::string> choice(const char* key, std::initializer_list<const char*> allowed) {
    const auto value = string(key);
    if (!value) return value;
    std::string list;
    for (const char* name : allowed) {
      if (*value == name) return value;
      list += text(list.empty() ? "'" : ", '", name, "'");
    }
    throw_config_error(path_,
                       text("has ", key, " ", quoted_name(*value), ", which is not one of ", list));
  }

  std::optional<std::string> string(const char* key) {
    const JsonValue* value = find(key);
    if (!value) return std::nullopt;
    if (!value->IsString()) mistyped(key, "a string", *value);
    return std::string(value->GetString(), value->GetStringLength());
  }

  std::optional<double> positive(const char* key) {
    const JsonValue* value = find(key);
    if (!value) return std::nullopt;
    if (!value->IsNumber()) mistyped(key, "a number", *value);
    const double number = value->GetDouble();
    if (!(number > 0) || !std::isfinite(number)) {
      throw_config_error(path_, text("has ", key, " ", number, ", which is not positive"));
    }
    return number;
  }

 private:
  const JsonValue* find(std::string_view key) const { return find_member(object_, key); }
  [[noreturn]] void mistyped(const char* key, const char* expected, const JsonValue& value) {
    throw_mistyped(path_, key, value, expected);
  }

  const std::string& path_;
  const JsonValue& object_;
};

bool is_known(const std::string& key) {
  return key == "floatx" || key == "epsilon" || key == "backend" || key == "image_data_format" ||
         key == "image_dim_ordering" || key == "kiln";
}

}  // namespace

KerasJson read_keras_json(const std::string& path) {
  JsonDocument document;
  try {
    document = parse_json(contents(path), path);
  } catch (const IoError& error) {
    const Caller caller = Caller::of();
    throw ConfigError(caller.function, "keras.json", error.message(), caller.where);
  }
  if (!document.IsObject()) {
    throw_config_error(path, text("holds ", json_kind(document), ", not an object"));
  }
  KerasJson json;
  json.path = path;
  json.found = true;
  Reader reader(path, document);
  json.floatx = reader.choice("floatx", {"float16", "float32", "float64"});
  json.epsilon = reader.positive("epsilon");
  json.backend = reader.string("backend");
  json.image_data_format = reader.choice("image_data_format", {"channels_last", "channels_first"});
  const auto ordering = reader.choice("image_dim_ordering", {"tf", "th"});
  if (ordering && !json.image_data_format) {
    json.image_data_format = *ordering == "th" ? "channels_first" : "channels_last";
  }
  json.backends = read_backend_options(path, document);
  for (const auto& member : std::as_const(document).GetObject()) {
    const std::string key(member.name.GetString(), member.name.GetStringLength());
    if (!is_known(key)) json.unknown_keys.push_back(key);
  }
  return json;
}

KerasJson read_keras_json() {
  const std::string path = file_path();
  if (!path.empty() && !is_absent(path)) return read_keras_json(path);
  KerasJson none;
  none.path = path;
  return none;
}

}  // namespace kiln::runtime
