// Records the outcome of each claim, for dumps.
//
// Before: a decision: "matmul" takes %2
// After:  the same, and its epilogues: bias fused; a kernel for tanh, with the library's reason
#pragma once

#include "backends/codegen/fusion/fusion_plan.h"
#include "backends/codegen/graph/decide_claims.h"
#include "backends/codegen/kernel/build/build_kernel.h"
#include "backends/codegen/plan/plan.h"

#include <span>

namespace kiln::codegen {

/// The outcomes of one computation, in the order of its decisions. `kernels_of_groups` and `plan`:
/// as for build_plan, with kernel numbers of the program. `library` may be null.
std::vector<ClaimOutcome> note_claims(const Computation& computation, const FusionPlan& fusion_plan,
                                      const KernelsOfGroups& kernels_of_groups, const Plan& plan,
                                      const LibraryClaims* library);

}  // namespace kiln::codegen
