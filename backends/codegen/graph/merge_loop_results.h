// Before: %h, %a*, %b* = scan { .. %4 = reshape %3; carry %2; stack %3, %4 }
// After:  %h, %a* = scan { .. carry %2; stack %3 }; %b* = reshape %a*
#pragma once

#include "backends/codegen/graph/graph_pass.h"

namespace kiln::codegen {

/// Stacks values of a loop's body that have the same elements once; reshapes of the stack serve the
/// other results. Broadcasts that only assert equal sizes count as reshapes.
std::vector<ir::Value> merge_loop_results(const std::vector<ir::Value>& results,
                                          const LibraryClaims* library);

}  // namespace kiln::codegen
