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

/// Whether stages are running values along inner points whose accesses have smaller strides along
/// the last inner axis than along the last outer one, and none adds at a dynamic index.
bool runs_along_neighbours(const Kernel& kernel);

/// Whether the access has no guard and no dynamic index, and its neighbours in memory lie along
/// that axis while points along the vector axis lie apart.
bool is_across(const Kernel& kernel, const Access& access, int axis);

/// Of a kernel of maps without inner axes: the outer axis along which a load of an operand that is
/// not written has its neighbours, where that is not the vector axis; else -1. Of several, the
/// last.
int across_axis(const Kernel& kernel);

}  // namespace kiln::codegen
