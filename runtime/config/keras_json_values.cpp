// Settings throw for the K function that is running when they are read.
#include "runtime/config/keras_json_values.h"

#include "core/types/text.h"
#include "runtime/host/caller.h"

#include <kiln/error.h>

namespace kiln::runtime {

void throw_config_error(const std::string& reason) {
  const Caller caller = Caller::of();
  throw ConfigError(caller.function, "keras.json", reason, caller.where);
}

void throw_invalid(const std::string& path, const std::string& message) {
  throw InvalidSetting(text(path, " ", message));
}

void throw_mistyped(const std::string& path, const std::string& key, const JsonValue& value,
                    const char* expected) {
  throw_invalid(path, text("has ", key, " as ", json_kind(value), ", not ", expected));
}

const JsonValue* find_member(const JsonValue& object, std::string_view key) {
  const JsonValue* found = nullptr;
  for (const auto& member : object.GetObject()) {
    if (key == std::string_view(member.name.GetString(), member.name.GetStringLength())) {
      found = &member.value;
    }
  }
  return found;
}

}  // namespace kiln::runtime
