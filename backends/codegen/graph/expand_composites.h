// Before: %1 = softmax %0
// After:  %1 = max %0; %2 = exp (%0 - %1); %3 = sum %2; %4 = %2 / %3
#pragma once

#include "backends/codegen/graph/graph_pass.h"

namespace kiln::codegen {

/// Replaces composites by the primitives that define them, unless the library takes them.
std::vector<ir::Value> expand_composites(const std::vector<ir::Value>& results,
                                         const LibraryClaims* library);

/// The decisions about composite nodes, also in bodies, that every claim rejects. Dumps show them,
/// as expand_composites() removes these nodes. REQUIRES: the nodes outlive the decisions. `library`
/// may be null, as for decide().
std::vector<ClaimDecision> rejected_composites(const std::vector<ir::Value>& results,
                                               const SizeNames& names,
                                               const LibraryClaims* library);

}  // namespace kiln::codegen
