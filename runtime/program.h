// From what the user asked of K::function to what a call runs: the checked user graph, its guards,
// the graph after the passes, and the executable of one backend. Immutable once made.
#pragma once

#include "core/ir/graph.h"
#include "core/passes/pipeline.h"
#include "runtime/backend_instance.h"
#include "runtime/input_binding.h"
#include "runtime/variable_state.h"

#include <kiln/function.h>

#include <atomic>

namespace kiln::runtime {

struct Program {
  std::string name;
  ir::Graph user_graph;                 // as it was written
  ir::Graph graph;                      // after the passes
  InputBinding binding;                 // checks and guards of a call's inputs
  std::vector<ir::Value> states;        // Variable nodes in the module's state order
  std::vector<VariableStorage*> state_storages;
  std::vector<VariableStorage*> updated;  // one per update of the module
  std::vector<VariableStorage*> writers;  // `updated` in id order, the order of locking
  bool draws = false;                   // takes a number from the call counter
  bool calls_host = false;
  InstancePtr instance;
  Executable executable;
  double compile_seconds = 0;
  mutable std::atomic<std::int64_t> calls{0};
};

/// Runs the passes and compiles for that backend. `label` names the program in dumps.
/// Throws NotImplementedError, BackendError.
std::shared_ptr<const Program> compile_program(const ir::Graph& graph, std::string name,
                                               const InstancePtr& instance);

/// The pass list's options under KILN_DISABLE (comma-separated names).
passes::PipelineOptions pipeline_options();

}  // namespace kiln::runtime
