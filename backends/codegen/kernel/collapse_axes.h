// Neighbouring axes that every access runs through at one stride become one axis, so that loops
// are long and their ends few.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// Merges neighbouring outer axes, and neighbouring inner axes, where all accesses and numbers of
/// random elements allow it. Before: axes [8][16] | , strides [16, 1]. After: axes [128] | , [1].
void collapse_axes(Kernel& kernel);

}  // namespace kiln::codegen
