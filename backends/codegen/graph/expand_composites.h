// Expands composite ops into primitives.
//
// Before: %1 = softmax %0
// After:  %1 = max %0; %2 = exp (%0 - %1); %3 = sum %2; %4 = 1 / %3; %5 = %2 * %4
#pragma once

#include "backends/codegen/graph/graph_pass.h"

namespace kiln::codegen {

/// Replaces each composite by the expansion of its OpDef, unless the library takes the composite.
std::vector<ir::Value> expand_composites(const std::vector<ir::Value>& results,
                                         const LibraryClaims* library);

/// The decisions about the composites, also in bodies, that every claim rejects. Dumps show them;
/// expand_composites() removes the nodes. REQUIRES: the nodes outlive the decisions. `library` may
/// be null, as for decide().
std::vector<ClaimDecision> rejected_composites(const std::vector<ir::Value>& results,
                                               const SizeNames& names,
                                               const LibraryClaims* library);

}  // namespace kiln::codegen
