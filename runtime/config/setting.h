// A value of keras.json. One that cannot be used is an error of its first use, not of the whole
// file, which other programs write, too.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace kiln::runtime {

/// Throws ConfigError with that reason, for the K function that is running.
[[noreturn]] void throw_config_error(const std::string& reason);

template <class T>
struct Setting {
  std::optional<T> value = {};  ///< empty: the file does not set it
  std::string rejection = {};  ///< why it cannot be used, with the path of the file; empty: it can

  /// ConfigError for a rejected value.
  const std::optional<T>& get() const {
    if (!rejection.empty()) throw_config_error(rejection);
    return value;
  }
};

using OptionSettings = std::map<std::string, Setting<std::string>>;
/// By the backend's name, or by the absolute path of its plugin.
using BackendSettings = std::map<std::string, Setting<OptionSettings>>;

}  // namespace kiln::runtime
