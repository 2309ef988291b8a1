// Loop interchange of the outer axes, and the choice of the vector axis: the one along which
// accesses are contiguous, or nearly so.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// Makes an axis along which some access is contiguous (stride 1) the last outer one, unless the
/// last one is such an axis. Axis 0 stays: threads divide it.
/// Before: axes [8][16][4] | , strides [64, 1, 16]. After: axes [8][4][16] | , strides [64, 16, 1].
void order_outer_axes(Kernel& kernel);

/// The axis for Kernel::vector_axis: the last inner or the last outer one, by the smallest stride
/// of an access along each, then by the sum of all strides. The last outer one (-1: there is none)
/// where the inner points must run in order, or where they are the taps of a window, which are too
/// few for a vector.
int nearest_axis(const Kernel& kernel);

/// Whether the kernel has a running stage (scan) that can be vectorised along the inner points: the
/// accesses have smaller strides along the last inner axis than along the last outer one, and no
/// store adds at a dynamic index.
bool runs_along_neighbours(const Kernel& kernel);

/// Whether the access is transposed with respect to the vector axis: contiguous along `axis`,
/// strided along the vector axis, without guard and dynamic index, of an operand that is only read.
bool is_across(const Kernel& kernel, const Access& access, int axis);

/// For a kernel of maps without inner axes: the last outer axis for which is_across() holds of some
/// access; else -1. Emitters transpose tiles of such loads in registers.
int across_axis(const Kernel& kernel);

}  // namespace kiln::codegen
