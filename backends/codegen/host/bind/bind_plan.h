// Binds a plan to one tuple of sizes.
#pragma once

#include "backends/codegen/host/bind/bind_inputs.h"

namespace kiln::codegen {

/// Library calls are prepared here, once for each tuple of sizes; runs share them. Throws
/// SizeFailure for tensors that 63 bits do not count. A body that sizes keep from running does not
/// keep the plan from it (BoundPlan::failure).
std::unique_ptr<BoundPlan> bind_plan(const Plan& plan, const BindInputs& inputs,
                                     const PlanUse& use);

}  // namespace kiln::codegen
