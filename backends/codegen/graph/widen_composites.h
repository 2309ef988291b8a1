// Computes composites of 16-bit floats in float32 where the library takes only that.
//
// Before: %2 = conv %0 %1 : bfloat16[2,8,8,16]
// After:  %2 = cast %0 : float32[2,10,10,8]; %3 = cast %1 : float32[3,3,8,16]
//         %4 = conv %2 %3 : float32[2,8,8,16]; %5 = cast %4 : bfloat16[2,8,8,16]
#pragma once

#include "backends/codegen/graph/graph_pass.h"

namespace kiln::codegen {

/// Casts the operands of convolutions and attention of float16 and bfloat16 to float32 and rounds
/// the results once, if the library rejects the node but takes it in float32. Each op computes in
/// float32 and rounds once by definition, so that this is its value; the expansion would store all
/// windows of an image, or all scores. REQUIRES: comes before update_rows, whose tables would be
/// copied.
std::vector<ir::Value> widen_composites(const std::vector<ir::Value>& results,
                                        const LibraryClaims* library);

}  // namespace kiln::codegen
