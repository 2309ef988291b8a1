// The parts of kiln doctor that run code of plugins, each in a process of its own.
#pragma once

#include <string>
#include <vector>

namespace kiln::tool {

/// The fields of a probe's answer.
using ProbeAnswer = std::vector<std::string>;

/// Opens the plugin of that name or absolute path and starts an instance. Returns the verdict, then
/// the lines below it: path, version, options and the details of the plugin.
ProbeAnswer probe_backend(const std::string& name_or_path, const std::string& path);

/// Returns {"selected", name, reason}, as backend_choice() has them, or {"error", message}.
ProbeAnswer probe_selection();

}  // namespace kiln::tool
