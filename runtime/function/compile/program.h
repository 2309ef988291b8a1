// A compiled function: the checked user graph, its guards, the graph after the passes, and the
// executable of one backend. Filled by compile_program.h, immutable afterwards.
#pragma once

#include "core/ir/dim_program.h"
#include "core/ir/graph.h"
#include "core/passes/pipeline.h"
#include "runtime/function/compile/executable_cache.h"
#include "runtime/function/compile/input_binding.h"
#include "runtime/plugin/backend_instance.h"
#include "runtime/variable/variable_state.h"

#include <string>
#include <vector>

namespace kiln::runtime {

/// A variable that gets a new value, and the type of that.
struct UpdateTarget {
  VariableStorage* storage = nullptr;
  DType dtype = DType::Float32;
  std::vector<std::int64_t> dims;
};

/// What one pass made of the graph.
struct PassRun {
  const passes::Pass* pass = nullptr;
  std::size_t position = 0;  // in the pipeline
  ir::Graph graph;           // after it
  bool changed = false;
  double seconds = 0;
};

struct Program {
  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  std::string name;
  ir::Graph user_graph;                 // as it was written
  std::vector<bool> sparse;             // see InputBinding
  bool optimize = true;                 // false: no pass runs, `graph` is `user_graph`
  bool has_lines = true;                // false: the module has no source lines
  std::uint64_t seed = 0;               // of every call, xor the seed of each draw
  ir::Graph graph;                      // after the passes
  InputBinding binding;                 // checks and guards of a call's inputs
  std::vector<ir::Value> states;        // Variable nodes in the module's state order
  std::vector<VariableStorage*> state_storages;
  std::vector<UpdateTarget> updated;      // one per update of the module
  std::vector<VariableStorage*> writers;  // those of `updated` in id order, the order of locking
  std::vector<std::vector<ir::DimProgram>> output_sizes;  // of each output, over binding.symbols()
  bool sizes_follow = false;  // the inputs' sizes give all sizes of outputs
  bool draws = false;                   // takes a number from the call counter
  bool calls_host = false;
  bool overwrites = false;              // some of `updated` may be written over their states
  std::vector<Overwrite> overwritable;  // then: one for each, by number in state_storages
  InstancePtr instance;
  ExecutablePtr executable;
  bool is_cache_hit = false;            // the executable was compiled for another program
  // Kept for dumps: what they show is what was run.
  std::vector<PassRun> passes;
  std::vector<ir::Guard> guards;
  double module_seconds = 0, backend_seconds = 0, compile_seconds = 0;
};

}  // namespace kiln::runtime
