// Accumulates 16-bit floats in float32.
//
// Before: %1 = sum %0 axes=[1] : bfloat16[4]
// After:  %1 = cast %0 : float32[4,8]; %2 = sum %1 axes=[1] : float32[4]
//         %3 = cast %2 : bfloat16[4]
#pragma once

#include "backends/codegen/graph/graph_pass.h"

namespace kiln::codegen {

/// Casts the operands of float16 and bfloat16 reductions and matmuls to float32 and rounds the
/// result once. Leaves nodes that a library takes: it accumulates in float32 itself.
std::vector<ir::Value> widen_accumulators(const std::vector<ir::Value>& results,
                                          const LibraryClaims* library);

}  // namespace kiln::codegen
