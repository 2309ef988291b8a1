// The schedule of kernels for CPUs: order of loops, lanes, and values that are stored for reuse.
//
// Before: axes [8][16] | [4], no lanes. After: axes [128] | [4], lanes along axis 0.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// Chooses the order of a kernel's outer axes and its vector axis, stores expensive values that
/// several stages need (reuse_stored), and merges axes (collapse_axes). Float sums may be
/// reassociated; all other values keep their bits. A pure function of the kernel.
void schedule_kernel(Kernel& kernel);

/// Stores an expensive value of a reduction, such as an exponential, in the operand that a later
/// stage writes, which then loads it instead of computing it again.
void reuse_stored(Kernel& kernel);

}  // namespace kiln::codegen
