// Options of the instance of a backend, and the places where the user set them.
#pragma once

#include "runtime/config/keras_json.h"
#include "runtime/plugin/backend_instance.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::runtime {

struct GivenOption {
  std::string name, value;
  std::string origin;  // "set_backend_options", "environment", or the path of keras.json
};

/// The environment variable of an option, which the plugin itself reads: KILN_CUDA_MEMORY_LIMIT.
std::string option_variable(std::string_view backend, std::string_view option);

/// The options that an instance is created with: those of `set`, then those of keras.json whose
/// environment variable is not set. Empty values count as not set. Throws ConfigError.
std::vector<GivenOption> given_options(const Plugin& plugin, const NamedOptions& set);

/// The environment variables of the backend that are not empty (for cuda: those that begin with
/// KILN_CUDA_, except those of a backend cuda_x), sorted; names are those of the variables.
/// REQUIRES: no other thread changes the environment.
std::vector<GivenOption> option_variables(const Plugin& plugin);

/// The names of the plugin's options in its order; nothing where it lists none. Throws
/// BackendError.
std::optional<std::vector<std::string>> option_names(const Plugin& plugin);

/// The variables of option_variables() that name no option of the plugin, which ignores them. Empty
/// where option_names() gives nothing. Throws BackendError.
std::vector<GivenOption> unknown_variables(const Plugin& plugin);
/// "cuda has the options device, arch" or "reference has no options".
std::string options_text(const Plugin& plugin);

/// As Instance::create and probe take them.
BackendOptions pairs_of(const std::vector<GivenOption>& options);
/// "; options: 'device' = '1' (set_backend_options), 'tf32' = 'true' (/h/keras.json)" for errors of
/// the plugin; empty for no options.
std::string origins_of(const std::vector<GivenOption>& options);

}  // namespace kiln::runtime
