// Merges chains of boxes: softmax written as exp, sum and div stays three boxes, bias and relu
// after a matmul become lines of its box.
#pragma once

#include "core/picture/picture.h"

namespace kiln::picture {

/// Merges a box into the one before it where, of the values of one part of the picture, the
/// second reads only results of the first, nothing else reads those, and both are in one group.
/// Before: [dot] -> [add] -> [relu]. After: [dot add relu].
void merge_chains(Picture& picture);

}  // namespace kiln::picture
