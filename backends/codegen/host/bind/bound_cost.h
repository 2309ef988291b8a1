// The least work of a bound step, for profiles.
#pragma once

#include "backends/codegen/host/bind/bound_plan.h"
#include "backends/codegen/plan/step_times.h"

namespace kiln::codegen {

/// The cost of one run; nothing for a loop or a branch, whose bodies have their own steps. `sizes`:
/// of the plan that has the step.
StepCost cost_of(const Step& step, const BoundStep& bound, const SlotSizes& sizes,
                 const Program& program);

}  // namespace kiln::codegen
