// Writes and parses JSON; every member is checked for its kind.
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

  void key(const char* name) { json_.Key(name); }
  void string(std::string_view value) {
    if (json_.String(value.data(), static_cast<rapidjson::SizeType>(value.size()))) return;
    Call::value_error("metadata", text(quoted_name(value), " is not UTF-8"));
  }
  void strings(const char* name, const std::vector<std::string>& list) {
    key(name);
    json_.StartArray();
    for (const std::string& one : list) string(one);
    json_.EndArray();
  }
  JsonWriter& json() { return json_; }
  std::string contents() const { return {buffer_.GetString(), buffer_.GetSize()}; }

 private:
  JsonBuffer buffer_;
  JsonWriter json_;
};

/// The member of an object. IoError unless the object has it, of that json_kind().
const JsonValue& member(const JsonValue& object, const char* name, std::string_view kind,
                        const std::string& subject) {
  const auto reject = [&](const std::string& problem) {
    throw IoError("", "path", text(subject, " ", problem));
  };
  if (!object.IsObject()) reject(text("has ", json_kind(object), " where an object belongs"));
  const auto found = object.FindMember(name);
  if (found == object.MemberEnd()) reject(text("lacks '", name, "'"));
  const std::string_view found_kind = json_kind(found->value);
  if (found_kind != kind) reject(text("has ", found_kind, " as '", name, "', not ", kind));
  return found->value;
}

std::string string_of(const JsonValue& value) {
  return {value.GetString(), value.GetStringLength()};
}

std::vector<std::string> strings_of(const JsonValue& object, const char* name,
                                    const std::string& subject) {
  std::vector<std::string> strings;
  for (const JsonValue& one : member(object, name, "an array", subject).GetArray()) {
    if (!one.IsString()) {
      throw IoError("", "path", text(subject, ": '", name, "' holds ", json_kind(one)));
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
  return writer.contents();
}

Manifest read_manifest(std::string_view contents, const std::string& subject) {
  const JsonDocument json = parse_json(contents, subject);
  if (string_of(member(json, "format", "a string", subject)) != kFormat) {
    throw IoError("", "path", text(subject, " is not that of a Kiln model"));
  }
  const std::string version = string_of(member(json, "version", "a string", subject));
  if (version != text(kModelVersion)) {
    throw IoError("", "path",
                  text(subject, " has version ", quoted_name(version), "; version ", kModelVersion,
                       " is read"));
  }
  Manifest manifest;
  manifest.names.inputs = strings_of(json, "inputs", subject);
  manifest.names.outputs = strings_of(json, "outputs", subject);
  for (const JsonValue& one : member(json, "variables", "an array", subject).GetArray()) {
    manifest.names.variables.push_back(string_of(member(one, "name", "a string", subject)));
    manifest.names.is_trained.push_back(member(one, "trained", "a boolean", subject).GetBool());
  }
  for (const auto& entry : member(json, "metadata", "an object", subject).GetObject()) {
    if (!entry.value.IsString()) {
      throw IoError("", "path", text(subject, ": 'metadata' holds ", json_kind(entry.value)));
    }
    manifest.metadata.emplace(string_of(entry.name), string_of(entry.value));
  }
  return manifest;
}

}  // namespace kiln::runtime
