// Looks for an axis of extent 0 only when a dim cannot be evaluated.
#include "backends/codegen/bind/kernel_sizes.h"

#include <kiln/error.h>

#include <algorithm>
#include <span>

namespace kiln::codegen {
namespace {

bool is_zero(const ir::Dim& dim, const EvaluateDim& evaluate) {
  try {
    return evaluate(dim) == 0;
  } catch (const ValueError&) {
    return false;
  }
}

bool has_zero(std::span<const ir::Dim> axes, const EvaluateDim& evaluate) {
  return std::any_of(axes.begin(), axes.end(),
                     [&](const ir::Dim& axis) { return is_zero(axis, evaluate); });
}

}  // namespace

EvaluateDim evaluate_for_kernel(const Kernel& kernel, const EvaluateDim& evaluate) {
  return [&kernel, &evaluate](const ir::Dim& dim) -> std::int64_t {
    try {
      return evaluate(dim);
    } catch (const ValueError&) {
      if (!has_zero(kernel.axes, evaluate)) throw;
      return 0;
    }
  };
}

bool writes_points(const Kernel& kernel, const EvaluateDim& evaluate) {
  const std::span<const ir::Dim> axes(kernel.axes);
  const auto outer = static_cast<std::size_t>(kernel.outer);
  if (has_zero(axes.first(outer), evaluate)) return false;
  const bool writes_outside =
      std::any_of(kernel.stages.begin(), kernel.stages.end(),
                  [](const Stage& stage) { return !stage.inner && !stage.stores.empty(); });
  return writes_outside || !has_zero(axes.subspan(outer), evaluate);
}

}  // namespace kiln::codegen
