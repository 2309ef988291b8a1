// Multiplies with a check for overflow.
#include "backends/codegen/grid/static_points.h"

namespace kiln::codegen {

std::int64_t static_points(std::span<const ir::Dim> extents) {
  std::int64_t points = 1;
  for (const ir::Dim& extent : extents) {
    if (!extent.is_static()) return -1;
    if (__builtin_mul_overflow(points, extent.value(), &points)) return -1;
  }
  return points;
}

}  // namespace kiln::codegen
