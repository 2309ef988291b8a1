// From the units of a computation to the steps that run them.
#pragma once

#include "backends/codegen/fusion/units.h"
#include "backends/codegen/graph/decide_claims.h"
#include "backends/codegen/plan/plan.h"

#include <span>

namespace kiln::codegen {

/// `kernel_of_unit`: of each unit, in Program::kernels; -1: none. `bodies`: the plans of the
/// computations before this one.
Plan build_plan(const Computation& computation, const Units& units,
                std::span<const int> kernel_of_unit, const std::vector<BuiltKernel>& kernels,
                std::span<const std::shared_ptr<Plan>> bodies);

}  // namespace kiln::codegen
