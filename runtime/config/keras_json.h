// The configuration file shared with Python Keras: $KERAS_HOME/keras.json, else
// $HOME/.keras/keras.json. Kiln never writes it. A set-user-ID program ignores it, since its user's
// settings could name libraries to load.
#pragma once

#include "runtime/config/setting.h"

#include <map>
#include <string>
#include <vector>

namespace kiln::runtime {

/// Options of a backend by their names.
using NamedOptions = std::map<std::string, std::string>;

struct KerasJson {
  std::string path = {};  ///< that was searched; empty without a home directory
  bool found = false;
  /// Why the file as a whole cannot be read, such as "<path> is malformed at line 1, column 13:
  /// invalid value". Empty: it can be. Its settings are rejected for this reason; those of the
  /// section `kiln` only if the text "kiln" is in the file, or may be: the tools that damage the
  /// file do not write this section.
  std::string damage = {};
  Setting<std::string> floatx = {}, image_data_format = {}, backend = {};
  Setting<double> epsilon = {};
  Setting<std::string> kiln_backend = {};  ///< `kiln.backend`
  Setting<BackendSettings> backends = {};  ///< `kiln.backends`
  std::vector<std::string> unknown_keys = {};
};

/// Reads the file; a missing one sets nothing. Never throws for its contents: settings that cannot
/// be used are rejected, each for itself. Reasons name the path and, for malformed text, line and
/// column, or for an invalid value, the key.
KerasJson read_keras_json();
/// Reads the file at a given path, which must exist.
KerasJson read_keras_json(const std::string& path);

}  // namespace kiln::runtime
