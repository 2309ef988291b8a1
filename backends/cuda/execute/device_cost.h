// Adds the least work of the steps to the times of a call, for profiles.
#pragma once

#include "backends/codegen/plan/step_times.h"
#include "backends/cuda/execute/device_plan.h"

namespace kiln::cuda {

/// REQUIRES: `times` are of one call, with the plan's sizes, and have no costs.
void add_costs(codegen::StepTimes& times, const DevicePlan& plan, const codegen::Program& program);

}  // namespace kiln::cuda
