// The order of a kernel's axes for a grid of threads.
//
// Before: axes [8][16] | [4], no lanes. After: axes [128] | [4], lanes along axis 1.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// Orders the outer axes, finds the axis of neighbours in memory, and merges axes. Float sums may
/// be reassociated; all other values keep their bits.
void shape_for_grid(Kernel& kernel);

}  // namespace kiln::codegen
