// Runs module files on a backend with random inputs.
#pragma once

#include "core/module/module.h"
#include "runtime/dump/dump_folder.h"

#include <kiln/array.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace kiln::tool {

/// Reads a module as text or bytes; the first bytes tell which. Throws IoError.
module::Module load_module(const std::string& path);

struct RunOptions {
  unsigned seed = 0;
  /// Sizes of symbols by name; others are 3.
  std::map<std::string, std::int64_t> sizes;
};

/// Draws the inputs, then the state: floats from [-1, 1), integers from 0 to 2, bools. Errors:
/// ValueError where they do not fit into this machine's memory.
std::vector<Array> random_arguments(const module::Module& module, const RunOptions& options);

struct Outcome {
  std::vector<Array> outputs;  // outputs, then the new values of updates
  double seconds = 0;          // of the call
};
/// Runs the module without the passes of K::function.
Outcome run_module(const module::Module& module, const std::vector<Array>& arguments,
                   const std::string& backend);
/// Runs the module after the passes of K::function. `arguments` are those of `module`.
Outcome run_after_passes(const module::Module& module, const std::vector<Array>& arguments,
                         const std::string& backend);

/// Compiles the module as K::function compiles a graph, calls the program `calls` times and writes
/// every stage to `folder`. Without `calls`: three times, or not at all where the backend's option
/// `arch` is set, which compiles without a device.
void dump_module(const module::Module& module, const RunOptions& options,
                 const std::string& backend, std::unique_ptr<runtime::DumpFolder> folder,
                 std::optional<int> calls);

}  // namespace kiln::tool
