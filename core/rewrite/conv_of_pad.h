// Zeros around the input of a convolution become the convolution's own padding, which is not
// stored.
//
// Before: %2 = pad %0 0 low=[0,3,3,0] high=[0,3,3,0]; %3 = conv %2 %1 low=[0,0] high=[0,0]
// After:  %3 = conv %0 %1 low=[3,3] high=[3,3]
#pragma once

#include "core/ir/node.h"

#include <vector>

namespace kiln::rewrite {

/// The forward convolution, or the gradient of its filter, of the input without its Pad, in place
/// or before a Permute. Empty unless the Pad adds zeros to spatial axes alone, at no axis a
/// negative number. REQUIRES: the node is a Conv.
ir::Value conv_of_pad(const ir::Node& node);

/// Values that the rule applies to; empty if `dtype` has none.
std::vector<ir::Value> conv_of_pad_examples(DType dtype);

}  // namespace kiln::rewrite
