// Lowers fusion groups, in their order, to the steps of a plan over numbered tensors.
//
// Before: group { %2 = dot %0 %1 }, group { %3 = tanh %2 }
// After:  slots %0 .. %3; steps: matmul %2 = %0 x %1; kernel k0(%2, %3)
#pragma once

#include "backends/codegen/fusion/fusion_plan.h"
#include "backends/codegen/graph/decide_claims.h"
#include "backends/codegen/kernel/build/build_kernel.h"
#include "backends/codegen/plan/plan.h"

#include <span>

namespace kiln::codegen {

/// `bodies`: the plans of the computations before this one, which contain its bodies. `library`:
/// the one that made the decisions.
Plan build_plan(const Computation& computation, const FusionPlan& fusion_plan,
                const KernelsOfGroups& kernels_of_groups, const BuiltKernels& kernels,
                std::span<const std::shared_ptr<Plan>> bodies, const LibraryClaims* library);

}  // namespace kiln::codegen
