// Makes the padding of convolutions symmetric, for libraries that require it.
//
// Before: %2 = conv %0 %1 low=[0] high=[1]
// After:  %3 = pad %0 0 low=[0,0,0] high=[0,1,0]; %2 = conv %3 %1 low=[0] high=[0]
#pragma once

#include "backends/codegen/graph/graph_pass.h"

namespace kiln::codegen {

/// The padding of a Conv that the pass removes.
struct ExcessPadding {
  ir::Dim low, high;
};

/// Of spatial axis i. Both ends keep the smaller padding; none where the output may omit windows
/// that fit, since the library would derive a larger output.
ExcessPadding excess_padding(const ir::Node& conv, std::size_t i);

/// Rewrites the convolutions that `library` takes, if it requires symmetric padding. The excess
/// becomes zeros of the input, or elements that are cut off the result of backward data.
std::vector<ir::Value> make_padding_symmetric(const std::vector<ir::Value>& results,
                                              const LibraryClaims* library);

}  // namespace kiln::codegen
