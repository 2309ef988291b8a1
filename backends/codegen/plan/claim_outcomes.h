// The outcome of each decision about a claim, for dumps.
#pragma once

#include "backends/codegen/fusion/units.h"
#include "backends/codegen/graph/decide_claims.h"
#include "backends/codegen/kernel/split/split_reductions.h"
#include "backends/codegen/plan/plan.h"

#include <span>

namespace kiln::codegen {

/// Of one computation, in the order of its decisions. `kernels_of_units` and `plan`: as build_plan
/// has them, numbers of kernels being those of the program. `library` may be null.
std::vector<ClaimOutcome> claim_outcomes(const Computation& computation, const Units& units,
                                         const KernelsOfUnits& kernels_of_units, const Plan& plan,
                                         const LibraryClaims* library);

}  // namespace kiln::codegen
