// Fusion: groups the nodes of a graph into kernels, library calls, loops and branches.
//
// Before: %2 = dot %0 %1; %3 = tanh %2; %4 = sum %3 axes=[1]; %5 = %3 * 2
// After:  group { %2 }, group { %3, %4, %5 }
#pragma once

#include "backends/codegen/fusion/fusion_plan.h"
#include "backends/codegen/graph/decide_claims.h"

namespace kiln::codegen {

FusionPlan fuse(const std::vector<ir::Value>& results, const SizeNames& names,
                const FuseOptions& options);
/// Fuses a computation with the decisions of its claims.
FusionPlan fuse(const Computation& computation, const TargetDescription& target);

}  // namespace kiln::codegen
