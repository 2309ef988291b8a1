// Strip mining: one axis of a kernel becomes parts, which are independent, and indices in them.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// Splits `axis` into extent / length parts of `length` indices. The part number becomes axis 0, an
/// outer axis; `axis` keeps the index in the part and is dropped when `length` is 1.
/// REQUIRES: the extent is a multiple of `length`; no lanes are chosen yet.
/// Before: axes [4] | [6][10]. After split_axis(kernel, 1, 3): axes [2][4] | [3][10].
void split_axis(Kernel& kernel, int axis, std::int64_t length);

}  // namespace kiln::codegen
