// Folds a Pad by zeros of a convolution's input into the convolution's own padding, which is not
// stored.
//
// Before: %2 = pad %0 0 low=[0,3,3,0] high=[0,3,3,0]; %3 = conv %2 %1 low=[0,0] high=[0,0]
// After:  %3 = conv %0 %1 low=[3,3] high=[3,3]
#pragma once

#include "core/ir/node.h"

#include <vector>

namespace kiln::rewrite {

/// Returns the forward or backward-weights convolution of the Pad's operand, with the Pad's amounts
/// added to `low` and `high`. A Permute between the Pad and the convolution stays. Empty unless the
/// Pad adds zeros (+0), at spatial axes alone, with amounts known to be 0 or more, none of them
/// interior. REQUIRES: the node is a Conv.
ir::Value conv_of_pad(const ir::Node& node);

/// Values that the rule applies to; empty if `dtype` has none.
std::vector<ir::Value> conv_of_pad_examples(DType dtype);

}  // namespace kiln::rewrite
