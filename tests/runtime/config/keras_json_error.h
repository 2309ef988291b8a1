// Reads a keras.json that must be rejected.
#pragma once

#include "tests/runtime/config/home.h"

#include "runtime/config/keras_json.h"
#include "tests/support/error_text.h"

#include <string>

namespace kiln::testing {

/// The text of the ConfigError for a keras.json with these contents, its path replaced by PATH.
inline std::string keras_json_error(const std::string& contents) {
  const KerasHome home(contents);
  return home.without_path(error_text<ConfigError>([] { runtime::read_keras_json(); }));
}

}  // namespace kiln::testing
