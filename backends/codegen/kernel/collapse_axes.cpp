// Merges from the last pair of axes to the first: a run of axes collapses in one pass.
#include "backends/codegen/kernel/collapse_axes.h"

#include "backends/codegen/access/bounded_product.h"
#include "backends/codegen/kernel/linear_indices.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

bool can_merge(const Kernel& kernel, const LinearIndices& draws, int first) {
  const auto a = static_cast<std::size_t>(first), b = a + 1;
  if (b == kernel.axes.size() || first + 1 == kernel.outer) return false;
  if (draws.is_indexed(first) || draws.is_indexed(first + 1)) return false;
  if (!draws.can_merge(first, kernel.axes[b])) return false;
  if (!bounded_product(kernel.axes[a], kernel.axes[b])) return false;
  return std::all_of(kernel.accesses.begin(), kernel.accesses.end(), [&](const Access& access) {
    return access.strides[a] == bounded_product(access.strides[b], kernel.axes[b]);
  });
}

void merge(Kernel& kernel, int first) {
  const auto a = static_cast<std::size_t>(first);
  kernel.axes[a] = kernel.axes[a] * kernel.axes[a + 1];
  kernel.axes.erase(kernel.axes.begin() + first + 1);
  for (Access& access : kernel.accesses) access.strides.erase(access.strides.begin() + first);
  for (Expression& e : kernel.expressions) {
    if (e.kind == ExpressionKind::AxisIndex && e.number > first) --e.number;
  }
  if (first < kernel.outer) --kernel.outer;
  if (kernel.vector_axis > first) --kernel.vector_axis;
  add_size(kernel, kernel.axes[a]);
}

}  // namespace

void collapse_axes(Kernel& kernel) {
  LinearIndices draws(kernel);
  const std::size_t axes = kernel.axes.size();
  for (int first = static_cast<int>(axes) - 2; first >= 0; --first) {
    if (!can_merge(kernel, draws, first)) continue;
    merge(kernel, first);
    draws.merge(first);
  }
  if (kernel.axes.size() != axes) draws.write_to(kernel);
}

}  // namespace kiln::codegen
