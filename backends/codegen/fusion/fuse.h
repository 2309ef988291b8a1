// Fusion: from the results of a graph to the units that compute them.
#pragma once

#include "backends/codegen/fusion/units.h"
#include "backends/codegen/graph/decide_claims.h"

namespace kiln::codegen {

Units fuse(const std::vector<ir::Value>& results, const SizeNames& names,
           const FuseOptions& options);
/// By the decisions that were made.
Units fuse(const Computation& computation, const TargetDescription& target);

}  // namespace kiln::codegen
