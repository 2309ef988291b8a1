// Cancels layout permutations (NCHW, NHWC) around convolutions.
//
// Before: %1 = permute %0 axes=[0,3,1,2]; %2 = relu %1; %3 = permute %2 axes=[0,2,3,1]; conv %3 ..
// After:  %1 = relu %0; conv %1 ..
#pragma once

#include "backends/codegen/graph/graph_pass.h"

namespace kiln::codegen {

/// In graphs with convolutions, moves each permutation past elementwise work and reductions,
/// towards the results, and merges it with the next one.
std::vector<ir::Value> sink_permutes(const std::vector<ir::Value>& results,
                                     const LibraryClaims* library);

}  // namespace kiln::codegen
