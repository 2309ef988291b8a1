// The inputs of binding besides the plan.
#pragma once

#include "backends/codegen/host/bind/bound_plan.h"
#include "backends/codegen/host/bind/host_description.h"

namespace kiln::codegen {

/// The rows [begin, end) of a row-independent loop that one thread
/// computes; `scales` as in IndependentRows.
struct RowGroup {
  std::int64_t begin = 0, end = 0;
  const std::vector<std::int64_t>* scales = nullptr;
};

/// The context in which a plan runs.
struct PlanUse {
  std::vector<bool> unchanged;  // of each argument: no call changes it; see unchanged_arguments()
  int consts = -1;  // of a loop's body: the number of loop-invariant arguments after t
  const RowGroup* group = nullptr;
  /// The bound plan of the first group, for the others: it packs the operands of all groups. A
  /// library may pack for one group and not for another with more rows.
  BoundPlan* first = nullptr;
};

/// Inputs for a plan and its bodies. REQUIRES: the library outlives
/// the bound plan; the others need not.
struct BindInputs {
  const std::vector<BuiltKernel>& kernels;
  const std::vector<KernelFunction>& functions;  // one for each kernel
  const EvaluateDim& evaluate;
  HostLibrary* library = nullptr;  // of the plan's library steps
  HostDescription host = {};
};

}  // namespace kiln::codegen
