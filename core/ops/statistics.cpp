// Expansions and gradients of statistics over whole axes.
#include "core/ops/statistics.h"

#include "core/ops/build.h"
#include "core/ops/halves.h"

namespace kiln::ir {

std::vector<Value> expand_variance(const Node& node, std::span<const Value> operands) {
  const Ints& axes = node.as<AxesAttrs>().axes;
  const Value deviation = deviations(widened(operands[0]), axes);
  return {cast(reduce_mean(deviation * deviation, axes), operands[0].dtype())};
}

Grads grad_variance(const Grad& g) {
  const Ints& axes = g.node.as<AxesAttrs>().axes;
  const Value x = widened(g.x[0]);
  const Value each = divided_by_count(widened(g.dy[0]) * 2.0, x, axes);
  return {cast(deviations(x, axes) * broadcast_over(each, x.dims(), axes), g.x[0].dtype())};
}

}  // namespace kiln::ir
