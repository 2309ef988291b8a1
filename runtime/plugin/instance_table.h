// The one instance of each backend, and the options that set_backend_options set for it.
#pragma once

#include "runtime/plugin/backend_options.h"

#include <string>
#include <vector>

namespace kiln::runtime {

/// Returns the plugin's instance, created by the first call with the options in force and never
/// destroyed. The first call logs a warning for each of unknown_variables() and for a damaged
/// keras.json. Throws BackendError, ValueError or ConfigError; the next call then tries again.
/// Thread-safe.
InstancePtr instance_of(const Plugin& plugin);

/// Adds options for the plugin's instance; an empty value unsets an earlier one. BackendError
/// naming `function` if the instance exists and the call would change its options. Thread-safe.
void set_options(const Plugin& plugin, const NamedOptions& options, const std::string& function);

/// Returns given_options() for the options of set_options(). Throws ConfigError. Thread-safe.
std::vector<GivenOption> options_in_force(const Plugin& plugin);
/// Probes with these options. Throws ConfigError, and as probe().
ProbeReport probe_configured(const Plugin& plugin);
/// Creates a second instance with these options. Throws ConfigError, and as Instance::create().
InstancePtr create_configured(const Plugin& plugin);

/// Returns the optional passes of other backends that are opened or beside the library and can be
/// used here, up to the first backend that has the pass `wanted`. Queries second instances, so that
/// options can still be set. Throws BackendError, as list_plugin_files(). Thread-safe.
std::vector<std::string> passes_of_other_backends(const Plugin& plugin, const std::string& wanted);

}  // namespace kiln::runtime
