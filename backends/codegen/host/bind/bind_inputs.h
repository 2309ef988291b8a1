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

/// The use of the plan to be bound.
struct PlanUse {
  std::vector<bool> kept;  // arguments that seldom change from one run to the next
  int consts = -1;         // a loop's body: how many arguments after t stay while it runs
  const RowGroup* group = nullptr;
  /// Of the first group, to the others: it has what any of them wants packed. A library may pack
  /// for one group and not for another, whose rows are more.
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
