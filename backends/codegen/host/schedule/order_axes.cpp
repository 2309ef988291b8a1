// The last axes of a pooling's domain are those of the window, while channels are contiguous in
// memory: the axis of lanes follows from strides, not from the order of axes.
#include "backends/codegen/host/schedule/schedule_kernel.h"

#include <algorithm>
#include <limits>

namespace kiln::codegen {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

bool varies_inside(const Kernel& kernel, const Access& access) {
  return std::any_of(access.strides.begin() + kernel.outer, access.strides.end(),
                     [](const ir::Dim& stride) { return stride != ir::Dim(0); });
}

/// Whether some access has stride 1 along the axis.
bool has_neighbours(const Kernel& kernel, int axis) {
  const bool outer_only = kernel.outer == static_cast<int>(kernel.axes.size());
  return std::any_of(kernel.accesses.begin(), kernel.accesses.end(), [&](const Access& access) {
    return access.strides[at(axis)].is_one() && (outer_only || varies_inside(kernel, access));
  });
}

/// The smallest stride along the axis, among accesses that depend on inner axes; a symbolic stride
/// counts as large.
std::int64_t nearest(const Kernel& kernel, int axis) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Access& access : kernel.accesses) {
    const ir::Dim& stride = access.strides[at(axis)];
    if (!stride.is_static() || stride == ir::Dim(0) || !varies_inside(kernel, access)) continue;
    least = std::min(least, std::abs(stride.value()));
  }
  return least;
}

template <class T>
void rotate(std::vector<T>& list, int from, int to) {
  const auto begin = list.begin();
  std::rotate(begin + from, begin + from + 1, begin + to + 1);
}

void move_behind(Kernel& kernel, int from, int to) {
  rotate(kernel.axes, from, to);
  for (Access& access : kernel.accesses) rotate(access.strides, from, to);
  for (Expression& e : kernel.expressions) {
    if (e.kind != ExpressionKind::AxisIndex) continue;
    if (e.number == from) {
      e.number = to;
    } else if (e.number > from && e.number <= to) {
      --e.number;
    }
  }
}

}  // namespace

void order_outer_axes(Kernel& kernel) {
  const int last = kernel.outer - 1;
  if (last < 2 || has_neighbours(kernel, last)) return;
  for (int axis = last - 1; axis > 0; --axis) {
    if (has_neighbours(kernel, axis)) return move_behind(kernel, axis, last);
  }
}

bool lanes_are_inner(const Kernel& kernel) {
  if (kernel.outer == 0) return true;
  const int last = static_cast<int>(kernel.axes.size()) - 1;
  return nearest(kernel, last) <= nearest(kernel, kernel.outer - 1);
}

}  // namespace kiln::codegen
