// Makes the padding of convolutions symmetric, for libraries that require it.
//
// Before: %2 = conv %0 %1 low=[0] high=[1]
// After:  %3 = pad %0 0 low=[0,0,0] high=[0,1,0]; %2 = conv %3 %1 low=[0] high=[0]
#pragma once

#include "backends/codegen/graph/graph_pass.h"

namespace kiln::codegen {

/// Rewrites the convolutions that `library` takes, if it requires symmetric padding. Both ends of
/// an axis keep the smaller padding; the excess becomes zeros of the input, or elements that are
/// cut off the result of backward data. Where the output may omit windows that fit, both paddings
/// become 0: the library would derive a larger output.
std::vector<ir::Value> make_padding_symmetric(const std::vector<ir::Value>& results,
                                        const LibraryClaims* library);

}  // namespace kiln::codegen
