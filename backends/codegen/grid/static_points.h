// Numbers of points.
#pragma once

#include "core/ir/dim.h"

#include <cstdint>
#include <span>

namespace kiln::codegen {

/// The product of the extents; -1: some extent is not static, or the product is 2^63 or more.
std::int64_t static_points(std::span<const ir::Dim> extents);

/// a b, or the greatest number if that is more, as where another extent is 0. REQUIRES: neither is
/// negative.
inline std::int64_t saturated_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

}  // namespace kiln::codegen
