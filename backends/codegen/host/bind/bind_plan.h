// Binds a plan to one tuple of sizes.
#pragma once

#include "backends/codegen/host/bind/bound_plan.h"

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

/// `kernels`: one per Program::kernels. Throws SizeFailure for tensors that 63 bits do not count.
/// A body that sizes keep from running does not keep the plan from it (BoundPlan::failure).
std::unique_ptr<BoundPlan> bind_plan(const Plan& plan, const std::vector<BuiltKernel>& kernels,
                                     const std::vector<KernelFunction>& functions,
                                     const EvaluateDim& evaluate, ProductLibrary* library,
                                     const PlanUse& use);

}  // namespace kiln::codegen
