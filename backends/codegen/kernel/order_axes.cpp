// The vector axis follows from strides, not from the order of axes: the innermost axes of pooling
// are those of the window, while channels are contiguous in memory.
#include "backends/codegen/kernel/order_axes.h"

#include "backends/codegen/kernel/needed.h"
#include "core/types/at.h"

#include <algorithm>
#include <compare>
#include <limits>

namespace kiln::codegen {
namespace {

bool varies_inside(const Kernel& kernel, const Access& access) {
  return std::any_of(access.strides.begin() + kernel.outer, access.strides.end(),
                     [](const ir::Dim& stride) { return stride != ir::Dim(0); });
}

/// Whether some access is contiguous (stride 1) along the axis.
bool is_contiguous(const Kernel& kernel, int axis) {
  const bool outer_only = kernel.outer == static_cast<int>(kernel.axes.size());
  return std::any_of(kernel.accesses.begin(), kernel.accesses.end(), [&](const Access& access) {
    return access.strides[at(axis)].is_one() && (outer_only || varies_inside(kernel, access));
  });
}

/// The strides along an axis of the accesses that depend on inner axes, but for those that are
/// constant along it.
struct Strides {
  static constexpr std::int64_t kLarge = std::numeric_limits<std::int32_t>::max();  // if symbolic

  std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
  std::int64_t sum = 0;
  /// Of two axes along which some access is contiguous, vectors run along the one where the others
  /// are nearly so: in the sum of x[i,j] w[i] over i, along j.
  auto operator<=>(const Strides&) const = default;
};

Strides strides_along(const Kernel& kernel, int axis) {
  Strides strides;
  for (const Access& access : kernel.accesses) {
    const ir::Dim& stride = access.strides[at(axis)];
    if (stride == ir::Dim(0) || !varies_inside(kernel, access)) continue;
    if (stride.is_static()) {
      strides.smallest = std::min(strides.smallest, std::abs(stride.value()));
    }
    const std::int64_t size = stride.is_static() ? std::abs(stride.value()) : Strides::kLarge;
    strides.sum += std::min(size, Strides::kLarge);
  }
  return strides;
}

template <class T>
void rotate(std::vector<T>& list, int from, int to) {
  const auto begin = list.begin();
  std::rotate(begin + from, begin + from + 1, begin + to + 1);
}

void move_axis(Kernel& kernel, int from, int to) {
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

bool has_running_stage(const Kernel& kernel) {
  return std::any_of(kernel.stages.begin(), kernel.stages.end(),
                     [](const Stage& stage) { return stage.kind == StageKind::Running; });
}

bool adds_anywhere(const Kernel& kernel) {
  const auto is_dynamic = [&](const Store& store) {
    return store.accumulate && kernel.accesses[store.access].dynamic;
  };
  return std::any_of(kernel.stages.begin(), kernel.stages.end(), [&](const Stage& stage) {
    return std::any_of(stage.stores.begin(), stage.stores.end(), is_dynamic);
  });
}

/// Whether the inner points of one outer point run in order: running
/// values, and additions at a dynamic index.
bool is_in_order(const Kernel& kernel) {
  return has_running_stage(kernel) || adds_anywhere(kernel);
}

/// Whether a guard tests an index that depends on an outer and an inner axis: the position of a tap
/// in a padded window. Windows are short, so lanes run along an outer axis.
bool reduces_windows(const Kernel& kernel) {
  const ExpressionFlags inner = depends_on_inner(kernel);
  ExpressionFlags outer;
  for (const Expression& e : kernel.expressions) {
    bool depends = e.kind == ExpressionKind::AxisIndex && e.number < kernel.outer;
    for (const ExpressionId argument : e.arguments) {
      depends = depends || (argument && outer[argument]);
    }
    outer.push_back(depends);
  }
  std::vector<ExpressionId> guards;
  for (const Access& access : kernel.accesses) guards.push_back(access.when);
  const ExpressionFlags tested = needed(kernel, guards);
  for (const ExpressionId i : tested.ids()) {
    const bool is_index = kernel.expressions[i].dtype == DType::Int64;
    if (tested[i] && is_index && inner[i] && outer[i]) return true;
  }
  return false;
}

/// Whether the strides along the last inner axis are at most those along the last outer one.
bool inner_is_contiguous(const Kernel& kernel) {
  if (kernel.outer == 0) return true;
  const int last = static_cast<int>(kernel.axes.size()) - 1;
  return strides_along(kernel, last) <= strides_along(kernel, kernel.outer - 1);
}

}  // namespace

void order_outer_axes(Kernel& kernel) {
  const int last = kernel.outer - 1;
  if (last < 2 || is_contiguous(kernel, last)) return;
  for (int axis = last - 1; axis > 0; --axis) {
    if (is_contiguous(kernel, axis)) return move_axis(kernel, axis, last);
  }
}

bool runs_along_neighbours(const Kernel& kernel) {
  return has_running_stage(kernel) && !adds_anywhere(kernel) && inner_is_contiguous(kernel);
}

bool is_across(const Kernel& kernel, const Access& access, int axis) {
  const ir::Dim& along = access.strides[at(kernel.vector_axis)];
  const bool strided = !along.is_one() && along != ir::Dim(0);
  const bool plain = !access.dynamic && !access.when;
  return plain && strided && access.strides[at(axis)].is_one() &&
         !kernel.operands[access.operand].written;
}

int across_axis(const Kernel& kernel) {
  const int outer = static_cast<int>(kernel.axes.size());
  const bool maps = std::all_of(kernel.stages.begin(), kernel.stages.end(),
                                [](const Stage& stage) { return stage.kind == StageKind::Map; });
  if (!maps || kernel.outer != outer || kernel.vector_axis != outer - 1) return -1;
  for (int axis = outer - 2; axis >= 0; --axis) {
    const bool any =
        std::any_of(kernel.accesses.begin(), kernel.accesses.end(),
                    [&](const Access& access) { return is_across(kernel, access, axis); });
    if (any) return axis;
  }
  return -1;
}

int nearest_axis(const Kernel& kernel) {
  const int last = static_cast<int>(kernel.axes.size()) - 1;
  const bool has_inner = last >= kernel.outer;
  if (!has_inner || is_in_order(kernel)) return kernel.outer - 1;
  if (kernel.outer > 0 && reduces_windows(kernel)) return kernel.outer - 1;
  return inner_is_contiguous(kernel) ? last : kernel.outer - 1;
}

}  // namespace kiln::codegen
