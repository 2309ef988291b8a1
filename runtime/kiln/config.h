// Configuration that involves values: the rest of group A is in kiln/context.h.
#pragma once

#include <kiln/array.h>
#include <kiln/context.h>

namespace kiln {

/// `x` cast to floatx(), on the host, whatever its dtype and shape. Errors: as for epsilon.
///     const auto x = K::cast_to_floatx(K::Array{1, 2});
///     x.dtype();  // float32
KILN_API Array cast_to_floatx(const Array& x, Where where = Where::here());

}  // namespace kiln
