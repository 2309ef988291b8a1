// The pass pipeline of compiled backends: from the graph of a module to the program that an
// executor runs. The table of passes is data; core/rewrite/run_passes.h runs it.
#pragma once

#include "backends/codegen/fusion/fusion_plan.h"
#include "backends/codegen/graph/decide_claims.h"
#include "backends/codegen/kernel/build/build_kernel.h"
#include "backends/codegen/plan/buffer_aliasing.h"
#include "backends/codegen/plan/plan.h"
#include "core/rewrite/run_passes.h"

#include <functional>
#include <string>

namespace kiln::codegen {

/// Orders the loops of a kernel for a machine; the kernel computes the same values. Null: as built.
using LoopTransform = void (*)(Kernel& kernel);

/// The state of one compilation. Each pass reads the fields that earlier passes have filled.
struct Compilation {
  // Input.
  std::vector<ir::Value> arguments;  // inputs, then variables
  std::vector<ir::Value> results;  // outputs, then new values of variables
  std::vector<InputOutputAlias> updates;  // each new value and its variable
  std::vector<bool> unchanged;  // of each argument: whether calls leave it unchanged; empty: none
  const LibraryClaims* library = nullptr;  // null: the target has none
  TargetDescription target = {};
  LoopTransform loop_transform = nullptr;

  std::vector<ir::Guard> guards;  // of the input graph
  SizeNames names;
  std::vector<Computation> computations;  // bodies before their users, the whole graph last
  // Of each computation:
  std::vector<FusionPlan> fusion_plans;
  std::vector<KernelsOfGroups> kernels_of_groups;
  std::vector<std::shared_ptr<Plan>> bodies;  // of each but the whole graph

  Program program;
  std::vector<std::uint8_t> updates_in_place;  // 1: may share its variable's buffer
};

/// The plans of all bodies, then that of the program.
std::vector<Plan*> plans_of(Compilation& compilation);

struct CodegenPass {
  std::string_view name;
  bool (*run)(Compilation& compilation);  // returns whether anything changed
  /// Throws InternalError when the pass broke an invariant.
  void (*verify)(const Compilation& compilation);
  /// The text that is dumped after the pass; null: the dump of a later pass shows the change.
  std::string (*print)(const Compilation& compilation);
  bool is_optional;  // may be disabled: programs are slower, results as accurate
  /// Whether the pass leaves results bit-identical (NaN payloads and subnormals aside). Otherwise
  /// it may reassociate sums or change their precision.
  bool keeps_bits;
  std::string_view description;
};

/// In the order in which they run.
std::span<const CodegenPass> pipeline();

struct PipelineOptions {
  std::vector<std::string> disabled;  // names of optional passes to skip
  /// Called after each pass that ran.
  std::function<void(const CodegenPass&, const rewrite::PassRun&)> report;
};

/// Throws OutOfMemory for static sizes that overflow, InternalError naming the pass that broke an
/// invariant.
void run_pipeline(Compilation& compilation, const PipelineOptions& options = {});

}  // namespace kiln::codegen
