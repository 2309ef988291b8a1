// A list of members for each struct, which both the writer and the reader follow.
#include "runtime/profile/profile_json.h"

#include "core/types/escaped_text.h"
#include "core/types/text.h"
#include "runtime/files/json.h"

#include <kiln/error.h>

#include <type_traits>

namespace kiln::runtime {
namespace {

/// Calls visit(name, member) for each member. `Struct` may be const.
template <class Struct, class Visit>
void for_each_member(Struct& s, const Visit& visit) {
  using Plain = std::remove_const_t<Struct>;
  if constexpr (std::is_same_v<Plain, ProfileOrigin>) {
    visit("scope", s.scope), visit("function", s.function), visit("file", s.file);
    visit("line", s.line), visit("share", s.share);
  } else if constexpr (std::is_same_v<Plain, ProfileRow>) {
    visit("step", s.step), visit("places", s.places), visit("calls", s.calls);
    visit("seconds", s.seconds), visit("bytes", s.bytes), visit("operations", s.operations);
    visit("first_seconds", s.first_seconds), visit("first_bytes", s.first_bytes);
    visit("first_operations", s.first_operations), visit("shortest", s.shortest);
  } else if constexpr (std::is_same_v<Plain, ProfileSum>) {
    visit("name", s.name), visit("seconds", s.seconds);
    visit("first_seconds", s.first_seconds);
  } else if constexpr (std::is_same_v<Plain, ProfileTensor>) {
    visit("name", s.name), visit("kind", s.kind), visit("bytes", s.bytes), visit("place", s.place);
  } else if constexpr (std::is_same_v<Plain, ProfileEvent>) {
    visit("what", s.what), visit("reason", s.reason), visit("seconds", s.seconds);
  } else {
    static_assert(std::is_same_v<Plain, Profile>);
    visit("function", s.function), visit("backend", s.backend);
    visit("without_times", s.without_times), visit("calls", s.calls);
    visit("seconds", s.seconds), visit("first_seconds", s.first_seconds);
    visit("shortest", s.shortest), visit("rows", s.rows), visit("scopes", s.scopes);
    visit("lines", s.lines), visit("functions", s.functions), visit("tensors", s.tensors);
    visit("events", s.events), visit("notes", s.notes);
  }
}

void write(JsonWriter& out, const std::string& value) { out.String(utf8_text(value)); }
void write(JsonWriter& out, std::int64_t value) { out.Int64(value); }
void write(JsonWriter& out, double value) { out.Double(value); }
template <class T>
void write(JsonWriter& out, const std::vector<T>& values);
template <class Struct>
void write(JsonWriter& out, const Struct& value) {
  out.StartObject();
  for_each_member(value, [&](const char* name, const auto& member) {
    out.Key(name);
    write(out, member);
  });
  out.EndObject();
}
template <class T>
void write(JsonWriter& out, const std::vector<T>& values) {
  out.StartArray();
  for (const T& value : values) write(out, value);
  out.EndArray();
}

class ProfileReader {
 public:
  explicit ProfileReader(const std::string& what) : what_(what) {}

  template <class T>
  void read(const JsonValue& from, std::vector<T>& values) const {
    if (!from.IsArray()) reject("an array", from);
    for (const JsonValue& one : from.GetArray()) read(one, values.emplace_back());
  }
  void read(const JsonValue& from, std::string& value) const {
    if (!from.IsString()) reject("a string", from);
    value.assign(from.GetString(), from.GetStringLength());
  }
  void read(const JsonValue& from, std::int64_t& value) const {
    if (!from.IsInt64()) reject("an integer", from);
    value = from.GetInt64();
  }
  void read(const JsonValue& from, double& value) const {
    if (!from.IsNumber()) reject("a number", from);
    value = from.GetDouble();
  }
  template <class Struct>
  void read(const JsonValue& from, Struct& value) const {
    if (!from.IsObject()) reject("an object", from);
    for_each_member(value, [&](const char* name, auto& member) {
      const auto found = from.FindMember(name);
      if (found == from.MemberEnd()) {
        throw IoError("profile", "", text(what_, " is no profile: '", name, "' is missing"));
      }
      read(found->value, member);
    });
  }

 private:
  [[noreturn]] void reject(const char* expected, const JsonValue& found) const {
    throw IoError(
        "profile", "",
        text(what_, " is no profile: ", expected, " is expected, not ", json_kind(found)));
  }

  const std::string& what_;
};

}  // namespace

std::string profile_json(const Profile& profile) {
  JsonBuffer buffer;
  JsonWriter out(buffer);
  write(out, profile);
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

Profile parse_profile_json(std::string_view json, const std::string& what) {
  const JsonDocument document = parse_json(json, what);
  Profile profile;
  ProfileReader(what).read(document, profile);
  return profile;
}

}  // namespace kiln::runtime
