// Moves the reshape that ends a repetition, such as a nearest resize, past the work on the repeated
// elements, so that one kernel does both: it indexes the small tensor, and no repeated one is
// stored.
//
// Before: %1 = broadcast %0 [h,2,c] axes=[0,2]; %2 = reshape %1 [2 h,c]; %3 = sub %2 %mean
// After:  %1 = broadcast %0 [h,2,c] axes=[0,2]; %2 = sub %1 %mean'; %3 = reshape %2 [2 h,c]
#pragma once

#include "backends/codegen/graph/graph_pass.h"

namespace kiln::codegen {

/// Sinks such reshapes below elementwise work with broadcasts and stored tensors, permutations,
/// further repetitions and reductions.
std::vector<ir::Value> sink_repetitions(const std::vector<ir::Value>& results,
                                        const LibraryClaims* library);

}  // namespace kiln::codegen
