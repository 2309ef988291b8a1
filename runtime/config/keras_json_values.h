// Values of keras.json, with errors that name the file and the key.
#pragma once

#include "runtime/config/keras_json.h"
#include "runtime/files/json.h"

#include <string>
#include <string_view>

namespace kiln::runtime {

/// Throws ConfigError "<path> <fact>".
[[noreturn]] void throw_config_error(const std::string& path, const std::string& fact);
/// Throws ConfigError "<path> has <key> as <kind of value>, not <expected>".
[[noreturn]] void throw_mistyped(const std::string& path, const std::string& key,
                                 const JsonValue& value, const char* expected);

/// The last member of that name, as Python takes it, or null. REQUIRES: `object` is an object.
const JsonValue* find_member(const JsonValue& object, std::string_view key);

/// `kiln.backends` of the document: strings as they are, booleans as true and false, numbers in
/// decimal digits. Throws ConfigError for values of other types and for unknown keys of `kiln`.
std::map<std::string, NamedOptions> read_backend_options(const std::string& path,
                                                         const JsonValue& document);

}  // namespace kiln::runtime
