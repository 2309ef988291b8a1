// A compiled function: the user's graph, its guards, the graph after the passes, and the executable
// of one backend. Filled by compile_program.h, immutable afterwards.
#pragma once

#include "core/ir/dim_evaluator.h"
#include "core/ir/graph.h"
#include "core/passes/pipeline.h"
#include "runtime/function/compile/executable_cache.h"
#include "runtime/function/compile/input_binding.h"
#include "runtime/function/compile/lower_collectives.h"
#include "runtime/plugin/backend_instance.h"
#include "runtime/variable/variable_state.h"

#include <string>
#include <string_view>
#include <vector>

namespace kiln::runtime {

/// A variable that an update assigns, with the type of the new value.
struct UpdateTarget {
  VariableStorage* storage = nullptr;
  DType dtype = DType::Float32;
  std::vector<std::int64_t> dims;
};

/// The record of one pass.
struct PassRun {
  const passes::Pass* pass = nullptr;
  std::size_t position = 0;  // in the pipeline
  ir::Graph graph;  // after the pass
  bool changed = false;
  double seconds = 0;
};

struct CompiledProgram {
  CompiledProgram() = default;
  CompiledProgram(const CompiledProgram&) = delete;
  CompiledProgram& operator=(const CompiledProgram&) = delete;

  std::string name;
  ir::Graph user_graph;  // before the passes
  std::vector<bool> sparse;  // as for InputBinding
  std::vector<ir::Guard> given_guards = {};  // of a module read from a file, besides the graph's
  bool optimize = true;  // false: no pass runs, `graph` is `user_graph`
  bool has_lines = true;  // false: the module has no source lines
  std::uint64_t seed = 0;  // of every call, xored with the seed of each draw
  ir::Graph graph;  // after the passes
  ProgramCollectives collectives;
  InputBinding binding;  // checks and guards of a call's inputs
  std::vector<ir::Value> states;  // Variable nodes in the module's state order
  std::vector<VariableStorage*> state_storages;  // of `states`
  std::vector<UpdateTarget> updated;  // one per update of the module
  std::vector<VariableStorage*> writers;  // of `updated`, in id (locking) order
  std::vector<std::vector<ir::DimEvaluator>> output_sizes;  // per output, over binding.symbols()
  bool has_inferred_sizes = false;  // the inputs' sizes determine all output sizes
  bool draws = false;  // consumes a number of the call counter
  bool calls_host = false;
  bool calls_functions = false;  // of the host, besides its collectives
  bool overwrites = false;  // some updates may overwrite their states in place
  std::vector<Overwrite> overwritable;  // then one request per update, over state_storages
  InstancePtr instance;
  ExecutablePtr executable;
  bool is_cache_hit = false;  // the executable was compiled for another program
  std::string_view code_reason;  // why the executable was compiled for this program or not
  // Kept for dumps, which show the program that runs.
  std::vector<PassRun> passes;
  std::vector<ir::Guard> guards;
  double module_seconds = 0, backend_seconds = 0, compile_seconds = 0;
};

}  // namespace kiln::runtime
