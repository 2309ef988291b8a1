// Configuration that involves values: the rest of group A is in kiln/context.h.
#pragma once

#include <kiln/array.h>
#include <kiln/context.h>

namespace kiln {

/// `x` cast to floatx(), on the host.
KILN_API Array cast_to_floatx(const Array& x);

}  // namespace kiln
