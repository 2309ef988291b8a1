// Strip mining: splits one axis of a kernel into an outer axis of
// parts and the index within a part.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// Splits `axis` into extent / length parts of `length` indices. The part number becomes axis 0, an
/// outer axis; `axis` keeps the index in the part and is dropped when `length` is 1.
/// REQUIRES: the extent is a multiple of `length`; the kernel has no vector axis yet.
/// Before: axes [4] | [6][10]. After split_axis(kernel, 1, 3): axes [2][4] | [3][10].
void split_axis(Kernel& kernel, int axis, std::int64_t length);

}  // namespace kiln::codegen
