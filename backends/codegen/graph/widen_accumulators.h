// Before: %1 = sum %0 axes=[1] : bfloat16[4]
// After:  %1 = cast %0 : float32[4,8]; %2 = sum %1 axes=[1] : float32[4]
//         %3 = cast %2 : bfloat16[4]
#pragma once

#include "backends/codegen/graph/graph_pass.h"

namespace kiln::codegen {

/// Accumulates float16 and bfloat16 in float32 and rounds once; leaves nodes that a library takes.
std::vector<ir::Value> widen_accumulators(const std::vector<ir::Value>& results,
                                          const LibraryClaims* library);

}  // namespace kiln::codegen
