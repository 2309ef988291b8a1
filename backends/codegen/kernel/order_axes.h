// The order of a kernel's outer axes, and the axis of its neighbours in memory.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// Makes an axis with an access of stride 1 the last outer axis, unless the last one has such an
/// access. Axis 0 stays.
void order_outer_axes(Kernel& kernel);

/// The axis for Kernel::vector_axis: the last inner or the last outer one, whichever has accesses
/// of the smaller stride; the last outer one (-1 without one) where inner points run in order or
/// are positions in a window.
int nearest_axis(const Kernel& kernel);

}  // namespace kiln::codegen
