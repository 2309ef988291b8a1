// Reads a keras.json with settings that must be rejected.
#pragma once

#include "tests/runtime/config/home.h"

#include "runtime/config/keras_json.h"
#include "tests/support/error_text.h"

#include <string>

namespace kiln::testing {

/// Reads every setting of the file, as their users do.
inline void read_all_settings() {
  const runtime::KerasJson json = runtime::read_keras_json();
  json.floatx.get(), json.epsilon.get(), json.image_data_format.get();
  json.backend.get(), json.kiln_backend.get();
  const runtime::BackendSettings backends =
      json.backends.get().value_or(runtime::BackendSettings());
  for (const auto& [name, options] : backends) {
    for (const auto& [option, setting] : *options.get()) setting.get();
  }
}

/// The text of the first ConfigError for a keras.json with these contents, its path replaced by
/// PATH.
inline std::string keras_json_error(const std::string& contents) {
  const KerasHome home(contents);
  return home.without_path(error_text<ConfigError>([] { read_all_settings(); }));
}

}  // namespace kiln::testing
