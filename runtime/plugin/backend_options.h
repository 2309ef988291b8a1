// Options of the instance of a backend, and the places where the user set them.
#pragma once

#include "runtime/config/keras_json.h"
#include "runtime/plugin/backend_instance.h"

#include <string>
#include <string_view>
#include <vector>

namespace kiln::runtime {

struct GivenOption {
  std::string name, value;
  std::string origin;  // "set_backend_options", or the path of keras.json
};

/// KILN_CUDA_MEMORY_LIMIT: the environment variable of an option, which the plugin itself reads.
std::string option_variable(std::string_view backend, std::string_view option);

/// The options that an instance is created with: those of `set`, then those of keras.json whose
/// environment variable is not set. Empty values count as not set. Throws ConfigError.
std::vector<GivenOption> given_options(const Plugin& plugin, const NamedOptions& set);

/// The environment variables that are set and begin as those of the backend's options do.
std::vector<GivenOption> option_variables(const Plugin& plugin);

/// As Instance::create and probe take them.
BackendOptions pairs_of(const std::vector<GivenOption>& options);
/// "; options: device = 1 (set_backend_options), tf32 = on (/h/keras.json)" for errors of the
/// plugin; empty for no options.
std::string origins_of(const std::vector<GivenOption>& options);

}  // namespace kiln::runtime
