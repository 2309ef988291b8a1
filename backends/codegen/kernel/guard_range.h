// Bounds that a guard puts on the index along one axis.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// first <= index < last
struct IndexRange {
  std::int64_t first = 0, last = 0;
};

/// A range that holds every index along `axis` at which the access may touch memory: the axis's
/// extent, narrowed by comparisons of its guard with constants that no other axis takes part in.
/// Example: an access when less(convert(i1 + -2), 5), i1 below 9: [2, 7).
/// REQUIRES: the extent of the axis is static.
IndexRange touched_range(const Kernel& kernel, const Access& access, int axis);

}  // namespace kiln::codegen
