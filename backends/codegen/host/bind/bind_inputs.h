// The inputs of binding, beside the plan and the sizes.
#pragma once

#include "backends/codegen/host/bind/bound_plan.h"
#include "backends/codegen/host/bind/host_description.h"

namespace kiln::codegen {

/// Rows begin .. end - 1 of a loop that is cut; `scales` as in Sharding.
struct RowGroup {
  std::int64_t begin = 0, end = 0;
  const std::vector<std::int64_t>* scales = nullptr;
};

/// How a plan is run, as far as its binding depends on it.
struct PlanUse {
  std::vector<bool> kept;  // arguments that are the same tensor in many runs: variables
  int consts = -1;         // of a loop's body: loop-invariant arguments after t
  const RowGroup* group = nullptr;
  /// Binding of the first group, for the others: it packs the operands of all groups. A library may
  /// pack for one group and not for another with more rows.
  BoundPlan* first = nullptr;
};

/// The same for a plan and its bodies. Only the library outlives the bound plan.
struct BindInputs {
  const std::vector<BuiltKernel>& kernels;
  const std::vector<KernelFunction>& functions;  // one for each kernel
  const EvaluateDim& evaluate;
  ProductLibrary* library = nullptr;  // of the plan's library steps
  HostDescription host = {};
};

}  // namespace kiln::codegen
