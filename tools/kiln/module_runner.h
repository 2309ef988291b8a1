// Running a module file on a backend with random inputs.
#pragma once

#include "core/module/module.h"
#include "runtime/dump/dump_folder.h"

#include <kiln/array.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace kiln::tool {

/// Text (.kir) or binary, told by its first bytes. Throws IoError.
module::Module load_module(const std::string& path);

struct RunOptions {
  unsigned seed = 0;
  /// Sizes of symbols by name; others are 3.
  std::map<std::string, std::int64_t> sizes;
};

/// Inputs, then state: floats from [-1, 1), integers from 0 to 2, bools. ValueError when they would
/// not fit into this machine's memory.
std::vector<Array> random_arguments(const module::Module& module, const RunOptions& options);

struct Outcome {
  std::vector<Array> outputs;  // outputs, then the new values of updates
  double seconds = 0;          // of the call
};
/// Runs the module as it is: no pass of the host.
Outcome run_module(const module::Module& module, const std::vector<Array>& arguments,
                   const std::string& backend);
/// Takes the module through the passes first, as K::function does. Arguments are those of `module`.
Outcome run_after_passes(const module::Module& module, const std::vector<Array>& arguments,
                         const std::string& backend);

/// Compiles the module for that backend as K::function does with a graph, calls the program `calls`
/// times, and leaves every stage in `folder`. Without a number, calls it three times, or never
/// where the backend's option `arch` is set, with which it runs no programs.
void dump_module(const module::Module& module, const RunOptions& options,
                 const std::string& backend, std::unique_ptr<runtime::DumpFolder> folder,
                 std::optional<int> calls);

}  // namespace kiln::tool
