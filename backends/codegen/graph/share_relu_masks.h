// ReLU mask reuse: ReLU's gradient takes its mask from relu(x) instead of x.
//
// Before: %2 = dot %0 %1; %3 = select (%2 <= 0) 0 %2; %4 = select (%2 <= 0) 0 %g
// After:  %2 = dot %0 %1; %3 = select (%2 <= 0) 0 %2; %4 = select (%3 <= 0) 0 %g
#pragma once

#include "backends/codegen/graph/graph_pass.h"

namespace kiln::codegen {

/// Rewrites the masks of ReLUs of matmuls and convolutions. The matmul's result then has one
/// reader, so that bias and ReLU can be fused into its epilogue (plan/fuse_epilogues.h).
std::vector<ir::Value> share_relu_masks(const std::vector<ir::Value>& results,
                                        const LibraryClaims* library);

}  // namespace kiln::codegen
