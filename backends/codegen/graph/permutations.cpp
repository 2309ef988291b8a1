// A broadcast that is permuted has the axes of its operand in another order, which are permuted.
#include "backends/codegen/graph/permutations.h"

#include "core/ops/build.h"
#include "core/types/at.h"

#include <algorithm>
#include <numeric>

namespace kiln::codegen {

using ir::Dims;
using ir::Ints;
using ir::Node;
using ir::Value;

Ints inverse(const Ints& axes) {
  Ints result(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    result[at(axes[i])] = static_cast<std::int64_t>(i);
  }
  return result;
}

Ints composed(const Ints& first, const Ints& second) {
  Ints axes;
  for (const std::int64_t axis : second) axes.push_back(first[at(axis)]);
  return axes;
}

Value permuted_broadcast(const Value& value, const Ints& axes) {
  const Node& node = *value.node;
  const Ints& mapped = node.as<ir::BroadcastAttrs>().axes;
  const Ints to = inverse(axes);
  Ints order(mapped.size()), targets;
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return to[at(mapped[at(a)])] < to[at(mapped[at(b)])];
  });
  for (const std::int64_t axis : order) targets.push_back(to[at(mapped[at(axis)])]);
  Dims dims;
  for (const std::int64_t axis : axes) dims.push_back(value.dims()[at(axis)]);
  return ir::broadcast(ir::permute(node.operands[0], order), dims, targets);
}

}  // namespace kiln::codegen
