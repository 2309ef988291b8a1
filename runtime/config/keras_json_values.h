// Values of keras.json, with errors that name file and key.
#pragma once

#include "runtime/files/json.h"

#include <string>
#include <string_view>

namespace kiln::runtime {

/// Throws ConfigError "<path> <message>".
[[noreturn]] void throw_config_error(const std::string& path, const std::string& message);
/// Throws ConfigError "<path> has <key> as <kind of value>, not <expected>".
[[noreturn]] void throw_mistyped(const std::string& path, const std::string& key,
                                 const JsonValue& value, const char* expected);

/// Returns the last member of that name, as Python does, or null. REQUIRES: `object` is an object.
const JsonValue* find_member(const JsonValue& object, std::string_view key);

}  // namespace kiln::runtime
