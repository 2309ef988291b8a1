// Fusion: groups the nodes of a graph into units: kernels, library calls, loops and branches.
//
// Before: %2 = dot %0 %1; %3 = tanh %2; %4 = sum %3; %5 = %3 * 2
// After:  unit { %2 }, unit { %3, %4, %5 }
#pragma once

#include "backends/codegen/fusion/units.h"
#include "backends/codegen/graph/decide_claims.h"

namespace kiln::codegen {

Units fuse(const std::vector<ir::Value>& results, const SizeNames& names,
           const FuseOptions& options);
/// By the decisions that were made.
Units fuse(const Computation& computation, const TargetDescription& target);

}  // namespace kiln::codegen
