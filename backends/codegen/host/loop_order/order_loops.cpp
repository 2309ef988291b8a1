// Vectorises the axis along which accesses have the smallest stride, unless its points must run in
// order or are few. Scans combine the lanes of a vector in a tree.
#include "backends/codegen/host/loop_order/order_loops.h"

#include "backends/codegen/claims/target_description.h"
#include "backends/codegen/kernel/collapse_axes.h"
#include "backends/codegen/kernel/order_axes.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

/// Rows of fewer elements, such as pixels of three channels, leave most lanes of a vector empty.
constexpr std::int64_t kMinRow = 9;
/// Fewer rows leave lanes along them empty.
constexpr std::int64_t kMinRows = 16;

/// Whether inner points are few and close together, so that lanes run along the last outer axis.
bool reduces_short_rows(const Kernel& kernel) {
  if (kernel.outer == 0 || kernel.outer == static_cast<int>(kernel.axes.size())) return false;
  std::int64_t points = 1;
  for (auto extent = kernel.axes.begin() + kernel.outer; extent != kernel.axes.end(); ++extent) {
    if (!extent->is_static() || extent->value() >= kMinRow) return false;
    points *= extent->value();
    if (points >= kMinRow) return false;
  }
  const ir::Dim& rows = kernel.axes[at(kernel.outer - 1)];
  if (rows.is_static() && rows.value() < kMinRows) return false;
  return std::all_of(kernel.accesses.begin(), kernel.accesses.end(), [&](const Access& access) {
    const ir::Dim& stride = access.strides[at(kernel.outer - 1)];
    return stride.is_static() && std::abs(stride.value()) <= kMinRow;
  });
}

int vector_axis_of(const Kernel& kernel) {
  if (runs_along_neighbours(kernel)) return static_cast<int>(kernel.axes.size()) - 1;
  return reduces_short_rows(kernel) ? kernel.outer - 1 : nearest_axis(kernel);
}

}  // namespace

void order_loops(Kernel& kernel) {
  order_outer_axes(kernel);
  kernel.vector_axis = vector_axis_of(kernel);
  reuse_stored(kernel);
  collapse_axes(kernel);
  // find_independent_rows lowers it where groups of rows need that.
  if (kernel.vector_axis == 0 && kernel.outer > 0) kernel.part_multiple = TargetDescription{}.lanes;
}

}  // namespace kiln::codegen
