// Records the outcome of each claim for dumps.
//
// Before: a decision: %2 is taken as a product
// After:  with its epilogue: bias fused; a kernel for tanh, since the library has no activations
#pragma once

#include "backends/codegen/fusion/units.h"
#include "backends/codegen/graph/decide_claims.h"
#include "backends/codegen/kernel/build/build_kernel.h"
#include "backends/codegen/plan/plan.h"

#include <span>

namespace kiln::codegen {

/// Of one computation, in the order of its decisions. `kernels_of_units` and `plan`: as build_plan
/// has them, numbers of kernels being those of the program. `library` may be null.
std::vector<ClaimOutcome> note_claims(const Computation& computation, const Units& units,
                                      const KernelsOfUnits& kernels_of_units, const Plan& plan,
                                      const LibraryClaims* library);

}  // namespace kiln::codegen
