// Orders kernels and calls as the steps of a plan over numbered tensors.
//
// Before: unit { %2 = dot %0 %1 }, unit { %3 = tanh %2 }
// After:  slots %0 .. %3; steps: product %2 = %0 x %1; kernel 0: %3 = .. %2
#pragma once

#include "backends/codegen/fusion/units.h"
#include "backends/codegen/graph/decide_claims.h"
#include "backends/codegen/kernel/build/build_kernel.h"
#include "backends/codegen/plan/plan.h"

#include <span>

namespace kiln::codegen {

/// `bodies`: the plans of the computations before this one. `library`: the one that the claims were
/// decided with.
Plan build_plan(const Computation& computation, const Units& units,
                const KernelsOfUnits& kernels_of_units, const std::vector<BuiltKernel>& kernels,
                std::span<const std::shared_ptr<Plan>> bodies, const LibraryClaims* library);

}  // namespace kiln::codegen
