// Common subexpression elimination over the stacked results of a loop.
//
// Before: %h, %a*, %b* = scan { .. %4 = reshape %3; carry %2; stack %3, %4 }
// After:  %h, %a* = scan { .. carry %2; stack %3 }; %b* = reshape %a*
#pragma once

#include "backends/codegen/graph/graph_pass.h"

namespace kiln::codegen {

/// Keeps one stacked result of each set that has the same elements; reshapes of its stack replace
/// the others. A broadcast that only asserts equal sizes counts as a reshape.
std::vector<ir::Value> merge_loop_results(const std::vector<ir::Value>& results,
                                          const LibraryClaims* library);

}  // namespace kiln::codegen
