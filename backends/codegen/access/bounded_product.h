// Products of dims that may not fit in 64 bits.
#pragma once

#include "core/ir/dim.h"

#include <optional>

namespace kiln::codegen {

/// a * b, or nothing where a coefficient overflows 64 bits: a tensor with such dims is empty, or
/// has more elements than any memory.
std::optional<ir::Dim> bounded_product(const ir::Dim& a, const ir::Dim& b);

/// A distance between elements, a * b; 0 where it overflows, since no element is then read.
ir::Dim bounded_distance(const ir::Dim& a, const ir::Dim& b);

}  // namespace kiln::codegen
