// Configuration that involves host values; the other settings are in kiln/context.h.
#pragma once

#include <kiln/array.h>
#include <kiln/context.h>

namespace kiln {

/// Casts `x`, of any dtype and shape, to floatx() on the host. Errors: as for epsilon.
///     const auto x = K::cast_to_floatx(K::Array{1, 2});
///     x.dtype();  // float32
[[nodiscard]] KILN_API Array cast_to_floatx(const Array& x, Where where = Where::here());

}  // namespace kiln
