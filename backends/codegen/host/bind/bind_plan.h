// Binds a plan and its bodies to one tuple of sizes.
#pragma once

#include "backends/codegen/host/bind/bind_inputs.h"

namespace kiln::codegen {

/// Evaluates all extents, prepares library calls, divides steps into parts, and plans memory. The
/// result is immutable and shared by all runs with these sizes. Throws SizeFailure for tensors
/// whose bytes overflow 63 bits. A body that cannot run with these sizes fails when it is entered
/// (BoundPlan::failure), as it may never be.
BoundPlanPtr bind_plan(const Plan& plan, const BindInputs& inputs, const PlanUse& use);
/// Binds the plan of the program.
inline BoundPlanPtr bind_program(const BindInputs& inputs) {
  return bind_plan(inputs.program.plan, inputs, {.is_program = true});
}

}  // namespace kiln::codegen
