// Options of a backend's instance, with their origins.
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

/// Returns the name of an option's environment variable, which the plugin itself reads:
/// KILN_CUDA_MEMORY_LIMIT.
std::string option_variable(std::string_view backend, std::string_view option);

/// Returns the options that an instance is created with: those of `set`, then those of keras.json
/// whose environment variable is not set. An empty value counts as not set. ConfigError for a
/// keras.json whose options of the plugin cannot be used, unless all that it lists are set
/// otherwise.
std::vector<GivenOption> given_options(const Plugin& plugin, const NamedOptions& set);

/// Returns the backend's environment variables that are not empty, sorted, under the variables'
/// names. For cuda: those that begin with KILN_CUDA_, except those of a backend cuda_x.
/// REQUIRES: no other thread changes the environment.
std::vector<GivenOption> option_variables(const Plugin& plugin);

/// Returns the names of the plugin's options in its order; nothing if the plugin does not list
/// them. Throws BackendError.
std::optional<std::vector<std::string>> option_names(const Plugin& plugin);

/// Returns the variables of option_variables() that name no option and so are ignored; none if
/// option_names() returns nothing. Throws BackendError.
std::vector<GivenOption> unknown_variables(const Plugin& plugin);
/// Describes the options: "cuda has the options device, arch" or "reference has no options".
std::string options_text(const Plugin& plugin);

/// Converts options to the form that Instance::create and probe take.
BackendOptions pairs_of(const std::vector<GivenOption>& options);
/// Describes options with their origins for errors of the plugin; empty for no options:
/// "; options: 'device' = '1' (set_backend_options), 'tf32' = 'true' (/h/keras.json)".
std::string origins_of(const std::vector<GivenOption>& options);

}  // namespace kiln::runtime
