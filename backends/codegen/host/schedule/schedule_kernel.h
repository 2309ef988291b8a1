// The schedule of kernels for CPUs: order of loops, lanes, values kept in cached memory.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// Chooses the order of a kernel's outer axes and its vector axis, stores expensive values that
/// several stages need (reuse_stored), and merges axes (collapse_axes). The points of a kernel and
/// the values at them stay. A pure function of the kernel.
void schedule_kernel(Kernel& kernel);

/// Where no access goes from neighbour to neighbour along the last outer axis, another one along
/// which some go becomes it. Axis 0 stays: it is split over threads.
void order_outer_axes(Kernel& kernel);
/// Whether neighbours in memory are neighbours along the last inner axis rather than along the last
/// outer one. REQUIRES: there are inner axes.
bool lanes_are_inner(const Kernel& kernel);

/// Stores an expensive value of a reduction that a later stage needs, too, where that stage writes.
void reuse_stored(Kernel& kernel);

}  // namespace kiln::codegen
