// Expansions and gradients of statistics over whole axes.
#include "core/ops/statistics.h"

#include "core/ops/build.h"

namespace kiln::ir {

std::vector<Value> expand_variance(const Node& node, std::span<const Value> operands) {
  const Ints& axes = node.as<AxesAttrs>().axes;
  const Value deviation = deviations(operands[0], axes);
  return {reduce_mean(deviation * deviation, axes)};
}

Grads grad_variance(const Grad& g) {
  const Ints& axes = g.node.as<AxesAttrs>().axes;
  const Value& x = g.x[0];
  const Value each = divided_by_count(g.dy[0] * 2.0, x, axes);
  return {deviations(x, axes) * broadcast_over(each, x.dims(), axes)};
}

}  // namespace kiln::ir
