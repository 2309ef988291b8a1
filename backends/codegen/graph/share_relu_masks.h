// Before: %2 = dot %0 %1; %3 = select (%2 <= 0) 0 %2; %4 = select (%2 <= 0) 0 %g
// After:  %2 = dot %0 %1; %3 = select (%2 <= 0) 0 %2; %4 = select (%3 <= 0) 0 %g
#pragma once

#include "backends/codegen/graph/graph_pass.h"

namespace kiln::codegen {

/// Computes the mask of the gradient of relu of a product from relu's result. The result of the
/// product then has one reader, so that bias and relu can be fused into the call
/// (plan/absorb_kernels.h).
std::vector<ir::Value> share_relu_masks(const std::vector<ir::Value>& results,
                                        const LibraryClaims* library);

}  // namespace kiln::codegen
