// Values of keras.json, with reasons that name file and key.
#pragma once

#include "runtime/config/setting.h"
#include "runtime/files/json.h"

#include <stdexcept>
#include <string>
#include <string_view>

namespace kiln::runtime {

/// A part of keras.json that cannot be used. what(): the reason, which names the file.
class InvalidSetting : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};

/// Throws InvalidSetting "<path> <message>".
[[noreturn]] void throw_invalid(const std::string& path, const std::string& message);
/// Throws InvalidSetting "<path> has <key> as <kind of value>, not <expected>".
[[noreturn]] void throw_mistyped(const std::string& path, const std::string& key,
                                 const JsonValue& value, const char* expected);

/// Returns what `read` returns, a value or an optional one, or the reason of its InvalidSetting.
template <class T, class Read>
Setting<T> setting_of(const Read& read) {
  try {
    return {.value = read()};
  } catch (const InvalidSetting& invalid) {
    return {.rejection = invalid.what()};
  }
}

/// Returns the last member of that name, as Python does, or null. REQUIRES: `object` is an object.
const JsonValue* find_member(const JsonValue& object, std::string_view key);

}  // namespace kiln::runtime
