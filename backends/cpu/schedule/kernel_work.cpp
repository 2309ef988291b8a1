// Multiplies static extents, saturating at kManyPoints.
#include "backends/cpu/schedule/kernel_work.h"

#include "backends/cpu/schedule/cpu_description.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace kiln::cpu {
namespace {

constexpr std::int64_t kManyPoints = kTuning.many_points;

/// The number of points, at most kManyPoints; none where an extent is unknown.
std::optional<std::int64_t> points_of(const codegen::Kernel& kernel) {
  std::int64_t points = 1;
  for (const ir::Dim& extent : kernel.axes) {
    if (!extent.is_static()) return std::nullopt;
    points = std::min(points * std::min(extent.value(), kManyPoints), kManyPoints);
  }
  return points;
}

}  // namespace

bool has_many_points(const codegen::Kernel& kernel) { return points_of(kernel) == kManyPoints; }

bool has_few_points(const codegen::Kernel& kernel) {
  const std::optional<std::int64_t> points = points_of(kernel);
  return points && *points < kManyPoints;
}

}  // namespace kiln::cpu
