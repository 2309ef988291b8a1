// Unknown values are null.
#include "core/types/escaped_text.h"
#include "tools/kiln/doctor.h"
#include "tools/kiln/doctor_plugin.h"

#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <optional>
#include <ostream>

namespace kiln::tool {
namespace {

using Writer = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

void write(Writer& json, const std::string& text) {
  const std::string shown = utf8_text(text);
  json.String(shown.data(), static_cast<rapidjson::SizeType>(shown.size()));
}

void write(Writer& json, const char* key, const std::string& text) {
  json.Key(key);
  write(json, text);
}

/// Writes null for an empty text.
void write_optional(Writer& json, const char* key, const std::string& text) {
  json.Key(key);
  text.empty() ? static_cast<void>(json.Null()) : write(json, text);
}

void write(Writer& json, const char* key, const std::vector<std::string>& texts) {
  json.Key(key);
  json.StartArray();
  for (const std::string& text : texts) write(json, text);
  json.EndArray();
}

void write_bytes(Writer& json, const char* key, std::uint64_t bytes) {
  json.Key(key);
  bytes == 0 ? json.Null() : json.Uint64(bytes);
}

void write_machine(Writer& json, const ProcessReport& report) {
  json.Key("processors");
  json.StartObject();
  write_optional(json, "model", report.processors.model);
  json.Key("available");
  json.Uint(report.available_processors);
  const auto& quota = report.processors.quota;
  json.Key("quota");
  quota ? json.Double(quota->value) : json.Null();
  write_optional(json, "quota_file", quota ? quota->file : "");
  json.EndObject();
  json.Key("memory");
  json.StartObject();
  write_bytes(json, "total", report.memory.total);
  write_bytes(json, "available", report.memory.available);
  const auto& limit = report.memory.limit;
  json.Key("limit");
  limit ? json.Uint64(limit->value) : json.Null();
  write_optional(json, "limit_file", limit ? limit->file : "");
  json.EndObject();
}

void write_settings(Writer& json, const ProcessReport& report) {
  json.Key("threads");
  json.StartObject();
  json.Key("count");
  report.threads == 0 ? json.Null() : json.Uint(report.threads);
  write(json, report.threads == 0 ? "error" : "origin", report.threads_origin);
  json.EndObject();
  json.Key("keras_json");
  json.StartObject();
  write_optional(json, "path", report.keras_json.path);
  json.Key("found");
  json.Bool(report.keras_json.found);
  write_optional(json, "damage", report.keras_json.damage);
  write(json, "rejections", report.keras_json.rejections);
  write(json, "unknown_keys", report.keras_json.unknown_keys);
  json.EndObject();
  json.Key("variables");
  json.StartArray();
  for (const auto& [variable, note] : report.variables) {
    json.StartObject();
    write(json, "name", variable.name);
    write(json, "value", variable.value);
    write_optional(json, "note", note);
    json.EndObject();
  }
  json.EndArray();
}

void write_backend(Writer& json, const BackendReport& backend) {
  const std::size_t colon = backend.verdict.find(": ");
  json.StartObject();
  write(json, "name", backend.name);
  write(json, "state", backend.verdict.substr(0, colon));
  write_optional(json, "reason",
                 colon == std::string::npos ? "" : backend.verdict.substr(colon + 2));
  write(json, "lines", backend.lines);
  json.EndObject();
}

/// Writes a check such as "wrong: text" as an object.
void write_check(Writer& json, const std::string& check) {
  const std::size_t colon = check.find(": ");
  json.StartObject();
  write(json, "kind", check.substr(0, colon));
  write(json, "text", check.substr(colon + 2));
  json.EndObject();
}

}  // namespace

void write_json(const PluginReport& report, std::ostream& out) {
  rapidjson::StringBuffer buffer;
  Writer json(buffer);
  json.StartObject();
  write(json, "path", report.path);
  json.Key("usable");
  json.Bool(report.is_usable);
  json.Key("checks");
  json.StartArray();
  for (const std::string& check : report.checks) write_check(json, check);
  json.EndArray();
  json.EndObject();
  out << buffer.GetString() << "\n";
}

void write_json(const DoctorReport& report, std::ostream& out) {
  rapidjson::StringBuffer buffer;
  Writer json(buffer);
  json.StartObject();
  write(json, "version", report.process.version);
  write(json, "library", report.process.library);
  write_machine(json, report.process);
  write_settings(json, report.process);
  write(json, "group", report.group);
  json.Key("backends");
  json.StartArray();
  for (const BackendReport& backend : report.backends) write_backend(json, backend);
  json.EndArray();
  write(json, "notes", report.notes);
  json.Key("selected");
  json.StartObject();
  write_optional(json, "name", report.selected);
  write_optional(json, "reason", report.reason);
  write_optional(json, "failure", report.failure);
  json.EndObject();
  json.EndObject();
  out << buffer.GetString() << "\n";
}

}  // namespace kiln::tool
