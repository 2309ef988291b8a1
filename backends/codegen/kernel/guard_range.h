// Derives the index range along one axis that the guard of an access admits.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// first <= index < last
struct IndexRange {
  std::int64_t first = 0, last = 0;
};

/// A conservative range of the indices along `axis` at which the access may touch memory: the
/// extent of the axis, narrowed by those comparisons of the guard that compare this index alone
/// with a constant. Example: an access when less(convert(i1 + -2), 5), i1 below 9: [2, 7).
/// REQUIRES: the extent of the axis is static.
IndexRange touched_range(const Kernel& kernel, const Access& access, int axis);

}  // namespace kiln::codegen
