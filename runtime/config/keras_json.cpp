// Finds keras.json, reads the keys that Kiln knows and checks the type of each value.
#include "runtime/config/keras_json.h"

#include "core/types/text.h"
#include "runtime/config/backend_sections.h"
#include "runtime/config/keras_json_values.h"
#include "runtime/files/file_io.h"
#include "runtime/files/json.h"
#include "runtime/files/quoted_name.h"

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
  return result;
}

class Reader {
 public:
  Reader(const std::string& path, const JsonValue& object) : path_(path), object_(object) {}

  Setting<std::string> choice(const char* key, std::initializer_list<const char*> allowed) const {
    return setting_of<std::string>([&] {
      const std::optional<std::string> value = string(key);
      std::string list;
      for (const char* name : allowed) {
        if (!value || *value == name) return value;
        list += text(list.empty() ? "'" : ", '", name, "'");
      }
      throw_invalid(path_,
                    text("has ", key, " ", quoted_name(*value), ", which is not one of ", list));
    });
  }

  std::optional<std::string> string(const char* key) const {
    const JsonValue* value = find_member(object_, key);
    if (!value) return std::nullopt;
    if (!value->IsString()) throw_mistyped(path_, key, *value, "a string");
    return std::string(value->GetString(), value->GetStringLength());
  }

  std::optional<double> positive(const char* key) const {
    const JsonValue* value = find_member(object_, key);
    if (!value) return std::nullopt;
    if (!value->IsNumber()) throw_mistyped(path_, key, *value, "a number");
    const double number = value->GetDouble();
    if (!(number > 0) || !std::isfinite(number)) {
      throw_invalid(path_, text("has ", key, " ", number, ", which is not positive"));
    }
    return number;
  }

 private:
  const std::string& path_;
  const JsonValue& object_;
};

bool is_known(const std::string& key) {
  return key == "floatx" || key == "epsilon" || key == "backend" || key == "image_data_format" ||
         key == "image_dim_ordering" || key == "kiln";
}

/// Reads the data format by its name, else by its old name.
Setting<std::string> read_data_format(const Reader& reader) {
  Setting<std::string> format =
      reader.choice("image_data_format", {"channels_last", "channels_first"});
  if (format.value || !format.rejection.empty()) return format;
  Setting<std::string> ordering = reader.choice("image_dim_ordering", {"tf", "th"});
  if (ordering.value) ordering.value = *ordering.value == "th" ? "channels_first" : "channels_last";
  return ordering;
}

void read_settings(const JsonValue& document, KerasJson& json) {
  const Reader reader(json.path, document);
  json.floatx = reader.choice("floatx", {"float16", "float32", "float64"});
  json.epsilon = setting_of<double>([&] { return reader.positive("epsilon"); });
  json.backend = setting_of<std::string>([&] { return reader.string("backend"); });
  json.image_data_format = read_data_format(reader);
  json.kiln_backend = read_kiln_backend(json.path, document);
  json.backends = read_backend_settings(json.path, document);
  for (const auto& member : document.GetObject()) {
    const std::string key(member.name.GetString(), member.name.GetStringLength());
    if (!is_known(key)) json.unknown_keys.push_back(key);
  }
}

void reject_settings(bool may_have_kiln_section, KerasJson& json) {
  json.floatx.rejection = json.image_data_format.rejection = json.backend.rejection =
      json.epsilon.rejection = json.damage;
  if (may_have_kiln_section) json.kiln_backend.rejection = json.backends.rejection = json.damage;
}

}  // namespace

KerasJson read_keras_json(const std::string& path) {
  KerasJson json{.path = path, .found = true};
  bool may_have_kiln_section = true;  // in a file that cannot be opened
  try {
    const std::string bytes = contents(path);
    may_have_kiln_section = bytes.find("\"kiln\"") != bytes.npos;
    if (bytes.find_first_not_of(" \t\r\n") == bytes.npos) throw_invalid(path, "is empty");
    const JsonDocument document = parse_json(bytes, path);
    if (!document.IsObject()) {
      throw_invalid(path, text("holds ", json_kind(document), ", not an object"));
    }
    read_settings(document, json);
  } catch (const IoError& error) {
    json.damage = error.message();
  } catch (const InvalidSetting& invalid) {
    json.damage = invalid.what();
  }
  if (!json.damage.empty()) reject_settings(may_have_kiln_section, json);
  return json;
}

KerasJson read_keras_json() {
  const std::string path = file_path();
  if (path.empty() || is_absent(path)) return {.path = path};
  return read_keras_json(path);
}

}  // namespace kiln::runtime
