#include "runtime/keras_json.h"

#include "core/types/text.h"
#include "runtime/json.h"

#include <kiln/error.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace kiln::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMaxBytes = 1 << 20;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string file_path() {
  const std::string keras_home = environment("KERAS_HOME");
  if (!keras_home.empty()) return (fs::path(keras_home) / "keras.json").string();
  const std::string home = environment("HOME");
  return home.empty() ? "" : (fs::path(home) / ".keras" / "keras.json").string();
}

[[noreturn]] void refuse(const std::string& path, const std::string& fact) {
  throw ConfigError("", "keras.json", text(path, " ", fact));
}

std::string contents(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) refuse(path, "is a directory");
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) refuse(path, text("cannot be read: ", error.message()));
  if (size > kMaxBytes) refuse(path, text("has ", size, " bytes; at most ", kMaxBytes, " are read"));
  std::ifstream file(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(size), '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(size))) refuse(path, "cannot be read");
  return text;
}

class Reader {
 public:
  Reader(const std::string& path, const rapidjson::Value& object) : path_(path), object_(object) {}

  std::optional<std::string> choice(const char* key, std::initializer_list<const char*> allowed) {
    const auto value = string(key);
    if (!value) return value;
    std::string list;
    for (const char* name : allowed) {
      if (*value == name) return value;
      list += text(list.empty() ? "'" : ", '", name, "'");
    }
    refuse(path_, text("has ", key, " '", *value, "', which is none of ", list));
  }

  std::optional<std::string> string(const char* key) {
    const rapidjson::Value* value = find(key);
    if (!value) return std::nullopt;
    if (!value->IsString()) mistyped(key, "a string", *value);
    return std::string(value->GetString(), value->GetStringLength());
  }

  std::optional<double> positive(const char* key) {
    const rapidjson::Value* value = find(key);
    if (!value) return std::nullopt;
    if (!value->IsNumber()) mistyped(key, "a number", *value);
    const double number = value->GetDouble();
    if (!(number > 0) || !std::isfinite(number)) {
      refuse(path_, text("has ", key, " ", number, ", which is not positive"));
    }
    return number;
  }

 private:
  const rapidjson::Value* find(const char* key) const {
    const auto member = object_.FindMember(key);
    return member == object_.MemberEnd() ? nullptr : &member->value;
  }
  [[noreturn]] void mistyped(const char* key, const char* expected, const rapidjson::Value& value) {
    refuse(path_, text("has ", key, " as ", json_kind(value), ", not ", expected));
  }

  const std::string& path_;
  const rapidjson::Value& object_;
};

bool is_known(const std::string& key) {
  return key == "floatx" || key == "epsilon" || key == "backend" || key == "image_data_format" ||
         key == "image_dim_ordering";
}

}  // namespace

KerasJson read_keras_json(const std::string& path) {
  const std::string input = contents(path);
  if (input.find_first_not_of(" \t\r\n") == std::string::npos) refuse(path, "is empty");
  rapidjson::Document document;
  try {
    document = parse_json(input, path);
  } catch (const IoError& error) {
    throw ConfigError("", "keras.json", error.message());
  }
  if (!document.IsObject()) refuse(path, text("holds ", json_kind(document), ", not an object"));
  KerasJson json;
  json.path = path;
  json.found = true;
  Reader reader(path, document);
  json.floatx = reader.choice("floatx", {"float16", "float32", "float64"});
  json.epsilon = reader.positive("epsilon");
  json.backend = reader.string("backend");
  json.image_data_format =
      reader.choice("image_data_format", {"channels_last", "channels_first"});
  const auto ordering = reader.choice("image_dim_ordering", {"tf", "th"});
  if (ordering && !json.image_data_format) {
    json.image_data_format = *ordering == "th" ? "channels_first" : "channels_last";
  }
  for (const auto& member : document.GetObject()) {
    const std::string key(member.name.GetString(), member.name.GetStringLength());
    if (!is_known(key)) json.unknown_keys.push_back(key);
  }
  return json;
}

KerasJson read_keras_json() {
  const std::string path = file_path();
  std::error_code error;
  if (path.empty() || !fs::exists(path, error)) {
    KerasJson none;
    none.path = path;
    return none;
  }
  return read_keras_json(path);
}

}  // namespace kiln::runtime
