// The one instance of each backend, and the options that set_backend_options set for it.
#pragma once

#include "runtime/plugin/backend_options.h"

#include <string>
#include <vector>

namespace kiln::runtime {

/// The plugin's instance, created at the first call with the options in force and never destroyed.
/// The first call logs a warning for each of unknown_variables(). Throws BackendError, ValueError
/// or ConfigError; the next call then tries again. Thread-safe.
InstancePtr instance_of(const Plugin& plugin);

/// Adds options for the plugin's instance; an empty value takes an earlier one back. Throws
/// BackendError, in the name of `function`, when the instance exists and the call would change
/// them. Thread-safe.
void set_options(const Plugin& plugin, const NamedOptions& options, const std::string& function);

/// given_options() with the options of set_options(). Throws ConfigError. Thread-safe.
std::vector<GivenOption> options_in_force(const Plugin& plugin);
/// probe() with these options. Throws ConfigError and what probe() throws.
ProbeReport probe_configured(const Plugin& plugin);
/// Creates an instance with these options beside that of instance_of(). Throws ConfigError and what
/// Instance::create() throws.
InstancePtr create_configured(const Plugin& plugin);

}  // namespace kiln::runtime
