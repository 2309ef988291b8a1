// Vectorizes the axis along which accesses have the smallest stride, unless its points must run in
// order.
#include "backends/codegen/host/schedule/schedule_kernel.h"

#include "backends/codegen/kernel/collapse_axes.h"
#include "backends/codegen/kernel/needed.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

/// Whether the inner points of one outer point run in order: running values, and additions at a
/// dynamic index.
bool is_in_order(const Kernel& kernel) {
  const auto adds_anywhere = [&](const Store& store) {
    const Access& access = kernel.accesses[static_cast<std::size_t>(store.access)];
    return store.accumulate && access.dynamic >= 0;
  };
  return std::any_of(kernel.stages.begin(), kernel.stages.end(), [&](const Stage& stage) {
    return stage.kind == StageKind::Running ||
           std::any_of(stage.stores.begin(), stage.stores.end(), adds_anywhere);
  });
}

/// Whether a guard tests an index that depends on an outer and an inner axis: a position in a
/// window. Reductions over windows are short, so lanes run along an outer axis.
bool sums_windows(const Kernel& kernel) {
  const std::vector<bool> inner = depends_on_inner(kernel);
  std::vector<bool> outer;
  for (const Expression& e : kernel.expressions) {
    bool depends = e.kind == ExpressionKind::AxisIndex && e.number < kernel.outer;
    for (const int argument : e.arguments) {
      depends = depends || (argument >= 0 && outer[static_cast<std::size_t>(argument)]);
    }
    outer.push_back(depends);
  }
  std::vector<int> guards;
  for (const Access& access : kernel.accesses) guards.push_back(access.when);
  const std::vector<bool> tested = needed(kernel, guards);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    const bool is_index = kernel.expressions[i].dtype == DType::Int64;
    if (tested[i] && is_index && inner[i] && outer[i]) return true;
  }
  return false;
}

int vector_axis(const Kernel& kernel) {
  const int last = static_cast<int>(kernel.axes.size()) - 1;
  const bool has_inner = last >= kernel.outer;
  if (!has_inner || is_in_order(kernel)) return kernel.outer - 1;
  if (kernel.outer > 0 && sums_windows(kernel)) return kernel.outer - 1;
  return lanes_are_inner(kernel) ? last : kernel.outer - 1;
}

}  // namespace

void schedule_kernel(Kernel& kernel) {
  order_outer_axes(kernel);
  kernel.vector_axis = vector_axis(kernel);
  reuse_stored(kernel);
  collapse_axes(kernel);
}

}  // namespace kiln::codegen
