// The configuration file shared with Python Keras: $KERAS_HOME/keras.json, else
// $HOME/.keras/keras.json. Kiln never writes it. A set-user-ID program ignores it, since its user's
// settings could name libraries to load.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kiln::runtime {

/// Options of a backend by their names.
using NamedOptions = std::map<std::string, std::string>;

struct KerasJson {
  std::string path;  ///< that was searched; empty without a home directory
  bool found = false;
  std::optional<std::string> floatx, image_data_format, backend;
  std::optional<double> epsilon;
  /// `kiln.backends`: by the backend's name, or by the absolute path of its plugin.
  std::map<std::string, NamedOptions> backends;
  std::vector<std::string> unknown_keys;
};

/// Reads the file; a missing one gives defaults. ConfigError naming the path and, for malformed
/// text, line and column, or for an invalid value, the key.
KerasJson read_keras_json();
/// Reads the file at a given path, which must exist.
KerasJson read_keras_json(const std::string& path);

}  // namespace kiln::runtime
