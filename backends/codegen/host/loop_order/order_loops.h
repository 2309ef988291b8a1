// Loop transformations for CPUs: loop order, vector axis, and reuse of stored values.
//
// Before: axes [8][16] | [4], no vector axis. After: axes [128] | [4], vector axis 0.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// Interchanges the outer axes, chooses the vector axis (order_axes.h), stores expensive values for
/// later stages (reuse_stored), and collapses axes (collapse_axes.h). Sets
/// Kernel::part_multiple to TargetDescription::lanes for a vector axis 0. Float sums may be
/// reassociated; all other values keep their bits. A pure function of the kernel.
void order_loops(Kernel& kernel);

/// Stores an expensive value of a reduction, such as an exponential, in the operand that a later
/// stage overwrites; later stages load the value instead of computing it again.
/// Before: reduce sum(exp(x - m)); map y = exp(x - m) / sum
/// After:  reduce sum(exp(x - m)), y = exp(x - m); map y = y / sum
void reuse_stored(Kernel& kernel);

}  // namespace kiln::codegen
