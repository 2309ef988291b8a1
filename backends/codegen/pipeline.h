// List 2: every step from the graph of a module to the program that an executor runs. The list is
// data; core/rewrite/run_passes.h runs it.
#pragma once

#include "backends/codegen/fusion/units.h"
#include "backends/codegen/graph/decide_claims.h"
#include "backends/codegen/kernel/build/build_kernel.h"
#include "backends/codegen/plan/find_in_place.h"
#include "backends/codegen/plan/plan.h"
#include "core/rewrite/run_passes.h"

#include <functional>
#include <string>

namespace kiln::codegen {

/// Shapes a kernel for a machine, keeping what it computes; null: kernels stay as they are built.
using KernelSchedule = void (*)(Kernel& kernel);

/// A graph on its way to a program. Each step reads what those before it left.
struct Compilation {
  // Given.
  std::vector<ir::Value> arguments;  // inputs, then variables
  std::vector<ir::Value> results;    // outputs, then new values of variables
  std::vector<ResultOverArgument> updates;  // each new value and the variable it is for
  const LibraryClaims* library = nullptr;  // null: the target has none
  TargetDescription target = {};
  KernelSchedule schedule = nullptr;

  std::vector<ir::Guard> guards;  // of the graph as it was given
  SizeNames names;
  std::vector<Computation> computations;  // bodies before what holds them, the whole graph last
  // Of each computation:
  std::vector<Units> units;
  std::vector<KernelsOfUnits> kernels_of_units;
  std::vector<std::shared_ptr<Plan>> bodies;     // not of the whole graph

  Program program;
  std::vector<std::uint8_t> updates_in_place;  // 1: may lie in its variable's memory
};

/// The plans of all bodies, then that of the program.
std::vector<Plan*> plans_of(Compilation& compilation);

struct PipelineStep {
  std::string_view name;  // of its function, too
  bool (*run)(Compilation& compilation);  // whether anything changed
  /// Throws InternalError when what the step left is not sound.
  void (*verify)(const Compilation& compilation);
  /// The text that is dumped after the step; null: it shows in the dump of a later one.
  std::string (*print)(const Compilation& compilation);
  bool is_optional;  // may be left out: programs are slower, results as good
  /// Whether results are bit-identical when every op is evaluated separately (NaN payloads and
  /// subnormals aside). Otherwise sums may be reassociated or have another precision.
  bool keeps_bits;
  std::string_view description;
};

/// In the order in which they run.
std::span<const PipelineStep> pipeline();

struct PipelineOptions {
  std::vector<std::string> disabled;  // names of optional steps to leave out
  /// Called after each step that ran.
  std::function<void(const PipelineStep&, const rewrite::PassRun&)> report;
};

/// Throws OutOfMemory for sizes that exceed it, InternalError naming the step that went wrong.
void run_pipeline(Compilation& compilation, const PipelineOptions& options = {});

}  // namespace kiln::codegen
