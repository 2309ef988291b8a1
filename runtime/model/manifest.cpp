// JSON by RapidJSON; every member is checked for its kind.
#include "runtime/model/manifest.h"

#include "core/k/base/call.h"
#include "core/types/text.h"
#include "runtime/files/json.h"
#include "runtime/files/quoted_name.h"
#include "runtime/plugin/version.h"

#include <kiln/error.h>

namespace kiln::runtime {
namespace {

constexpr std::string_view kFormat = "kiln model";

class ManifestWriter {
 public:
  ManifestWriter() : json_(buffer_) {}

  void key(const char* name) {
    json_.Key(name, static_cast<rapidjson::SizeType>(std::char_traits<char>::length(name)));
  }
  void string(std::string_view text) {
    if (json_.String(text.data(), static_cast<rapidjson::SizeType>(text.size()))) return;
    Call::value_error("metadata", text_of(text));
  }
  void strings(const char* name, const std::vector<std::string>& list) {
    key(name);
    json_.StartArray();
    for (const std::string& one : list) string(one);
    json_.EndArray();
  }
  JsonWriter& json() { return json_; }
  std::string text() const { return {buffer_.GetString(), buffer_.GetSize()}; }

 private:
  static std::string text_of(std::string_view name) {
    return kiln::text(quoted_name(name), " is not UTF-8");
  }

  JsonBuffer buffer_;
  JsonWriter json_;
};

/// A member of an object. Throws unless it is there and `is_kind`.
const JsonValue& member(const JsonValue& object, const char* name,
                        bool (JsonValue::*is_kind)() const, const std::string& what) {
  const auto lacks = [&] {
    return IoError("", "path", text(what, " lacks '", name, "', or it is of another kind"));
  };
  if (!object.IsObject()) throw lacks();
  const auto found = object.FindMember(name);
  if (found == object.MemberEnd() || !(found->value.*is_kind)()) throw lacks();
  return found->value;
}

std::string string_of(const JsonValue& value) {
  return {value.GetString(), value.GetStringLength()};
}

std::vector<std::string> strings_of(const JsonValue& object, const char* name,
                                    const std::string& what) {
  std::vector<std::string> strings;
  for (const JsonValue& one : member(object, name, &JsonValue::IsArray, what).GetArray()) {
    if (!one.IsString()) {
      throw IoError("", "path", text(what, ": '", name, "' holds ", json_kind(one)));
    }
    strings.push_back(string_of(one));
  }
  return strings;
}

}  // namespace

std::string manifest_text(const Manifest& manifest) {
  ManifestWriter writer;
  writer.json().StartObject();
  writer.key("format");
  writer.string(kFormat);
  writer.key("version");
  writer.string(text(kModelVersion));
  writer.key("kiln");
  writer.string(kVersion);
  writer.strings("inputs", manifest.names.inputs);
  writer.strings("outputs", manifest.names.outputs);
  writer.key("variables");
  writer.json().StartArray();
  for (std::size_t i = 0; i < manifest.names.variables.size(); ++i) {
    writer.json().StartObject();
    writer.key("name");
    writer.string(manifest.names.variables[i]);
    writer.key("trained");
    writer.json().Bool(manifest.names.is_trained[i]);
    writer.json().EndObject();
  }
  writer.json().EndArray();
  writer.key("metadata");
  writer.json().StartObject();
  for (const auto& [key, value] : manifest.metadata) {
    if (!writer.json().Key(key.data(), static_cast<rapidjson::SizeType>(key.size()))) {
      Call::value_error("metadata", text("key ", quoted_name(key), " is not UTF-8"));
    }
    writer.string(value);
  }
  writer.json().EndObject();
  writer.json().EndObject();
  return writer.text();
}

Manifest read_manifest(std::string_view text_of_file, const std::string& what) {
  const JsonDocument json = parse_json(text_of_file, what);
  if (string_of(member(json, "format", &JsonValue::IsString, what)) != kFormat) {
    throw IoError("", "path", text(what, " is not that of a Kiln model"));
  }
  const std::string version = string_of(member(json, "version", &JsonValue::IsString, what));
  if (version != text(kModelVersion)) {
    throw IoError(
        "", "path",
        text(what, " has version ", quoted_name(version), "; version ", kModelVersion, " is read"));
  }
  Manifest manifest;
  manifest.names.inputs = strings_of(json, "inputs", what);
  manifest.names.outputs = strings_of(json, "outputs", what);
  for (const JsonValue& one : member(json, "variables", &JsonValue::IsArray, what).GetArray()) {
    manifest.names.variables.push_back(string_of(member(one, "name", &JsonValue::IsString, what)));
    manifest.names.is_trained.push_back(member(one, "trained", &JsonValue::IsBool, what).GetBool());
  }
  for (const auto& entry : member(json, "metadata", &JsonValue::IsObject, what).GetObject()) {
    if (!entry.value.IsString()) {
      throw IoError("", "path", text(what, ": 'metadata' holds ", json_kind(entry.value)));
    }
    manifest.metadata.emplace(string_of(entry.name), string_of(entry.value));
  }
  return manifest;
}

}  // namespace kiln::runtime
