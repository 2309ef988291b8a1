// Runs module files on a backend.
#pragma once

#include "core/module/module.h"
#include "runtime/dump/dump_folder.h"
#include "tools/kiln/module_arguments.h"

#include <kiln/array.h>
#include <kiln/profile.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace kiln::tool {

struct RunSettings {
  std::string backend;
  bool passes = false;  // whether those of K::function run first
  std::int64_t random_call = 0;  // the number from which random draws follow
};

/// Settings for arguments of a recorded call, which has its random number in their metadata.
/// ValueError if that is not a number.
RunSettings settings_of(const Arguments& arguments, const std::string& backend, bool passes);

/// Whether passes run: as `given`, else as in the recorded call, else not. ValueError if the
/// metadata of the call have another value than "true" and "false".
bool passes_of(const Arguments& arguments, std::optional<bool> given);

struct Outcome {
  std::vector<Array> outputs;  // outputs, then the new values of updates
  std::vector<std::string> names;  // of `outputs`, distinct
  double seconds = 0;  // of the call
};
/// Compiles and calls the module once.
Outcome run_module(const module::Module& module, const std::vector<Array>& arguments,
                   const RunSettings& settings);

/// Compiles the module as K::function compiles a graph, calls the program `calls` times and writes
/// every stage to `folder`. Without `calls`: three times, or not at all where the backend's option
/// `arch` is set, which compiles without a device.
void dump_module(const module::Module& module, const RunOptions& options,
                 const std::string& backend, std::unique_ptr<runtime::DumpFolder> folder,
                 std::optional<int> calls);

/// Compiles the module as K::function compiles a graph, and measures that many calls.
Profile profile_module(const module::Module& module, const RunOptions& options,
                       const std::string& backend, int calls);

}  // namespace kiln::tool
