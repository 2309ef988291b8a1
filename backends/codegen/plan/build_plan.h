// From the units of a computation to the steps that run them.
#pragma once

#include "backends/codegen/fusion/units.h"
#include "backends/codegen/graph/decide_claims.h"
#include "backends/codegen/kernel/split/split_reductions.h"
#include "backends/codegen/plan/plan.h"

#include <span>

namespace kiln::codegen {

/// `bodies`: the plans of the computations before this one. `library`: the one that the claims were
/// decided with.
Plan build_plan(const Computation& computation, const Units& units,
                const KernelsOfUnits& kernels_of_units, const std::vector<BuiltKernel>& kernels,
                std::span<const std::shared_ptr<Plan>> bodies, const LibraryClaims* library);

}  // namespace kiln::codegen
