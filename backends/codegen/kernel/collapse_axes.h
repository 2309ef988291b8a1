// Collapses adjacent axes that every access traverses with a single stride into one axis: loops
// become longer, and fewer of them have remainders.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// Merges adjacent outer axes, and adjacent inner axes, where the strides of all accesses and the
/// linear indices of random draws allow it.
/// Before: axes [8][16] | , strides [16, 1]. After: axes [128] | , strides [1].
void collapse_axes(Kernel& kernel);

}  // namespace kiln::codegen
