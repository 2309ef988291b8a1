// Computes a result in its own layout, instead of permuting it in a kernel of its own.
//
// Before: %1 = cast %0; %2 = sub %1 %mean; %3 = permute %2 axes=[0,3,1,2]; results %3
// After:  %1 = permute %0 axes=[0,3,1,2]; %2 = cast %1; %3 = sub %2 %mean'; results %3
#pragma once

#include "backends/codegen/graph/graph_pass.h"

namespace kiln::codegen {

/// Raises permutations of results past elementwise work that nothing else uses, to at most two
/// tensors, which the kernel of that work then reads permuted. Results of matmuls and convolutions
/// stay with their epilogues.
std::vector<ir::Value> raise_permutes(const std::vector<ir::Value>& results,
                                      const LibraryClaims* library);

}  // namespace kiln::codegen
