// Gives convolutions equal padding at both ends of each axis, for libraries that need it.
//
// Before: %2 = conv %0 %1 low=[0] high=[1]
// After:  %3 = pad %0 0 low=[0,0,0] high=[0,1,0]; %2 = conv %3 %1 low=[0] high=[0]
#pragma once

#include "backends/codegen/graph/graph_pass.h"

namespace kiln::codegen {

/// Rewrites the convolutions that `library` takes, if it needs equal padding. The excess padding
/// becomes zeros of the input; of backward data, elements of the result that are dropped. All
/// padding is excess on an axis that may have room for more windows than the output has elements.
std::vector<ir::Value> equalize_padding(const std::vector<ir::Value>& results,
                                        const LibraryClaims* library);

}  // namespace kiln::codegen
