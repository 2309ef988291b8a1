// Casts by an ordinary node, which gradients pass through.
#include "core/ops/halves.h"

#include "core/ops/build.h"

namespace kiln::ir {

Value widened(const Value& x) { return is_half(x.dtype()) ? cast(x, DType::Float32) : x; }

}  // namespace kiln::ir
