// Windows are the last axes of a domain, but it is channels that lie together in memory: which
// axis lanes go along follows from the strides.
#include "backends/codegen/kernel/build/build_kernel.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

bool varies_inside(const Kernel& kernel, const Access& access) {
  return std::any_of(access.strides.begin() + kernel.outer, access.strides.end(),
                     [](const ir::Dim& stride) { return stride != ir::Dim(0); });
}

/// Whether some access goes from neighbour to neighbour along the axis.
bool has_neighbours(const Kernel& kernel, int axis) {
  const bool outer_only = kernel.outer == static_cast<int>(kernel.axes.size());
  return std::any_of(
      kernel.accesses.begin(), kernel.accesses.end(), [&](const Access& access) {
        return access.strides[at(axis)].is_one() && (outer_only || varies_inside(kernel, access));
      });
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

bool lanes_belong_outside(const Kernel& kernel) {
  const int end = static_cast<int>(kernel.axes.size()) - 1;
  return kernel.outer > 0 && !has_neighbours(kernel, end) &&
         has_neighbours(kernel, kernel.outer - 1);
}

}  // namespace kiln::codegen
