// Casts by an ordinary node, which gradients pass through.
#include "core/ops/halves.h"

#include "core/ops/build.h"
#include "core/ops/make.h"

namespace kiln::ir {

Value widened(const Value& x) { return is_half(x.dtype()) ? cast(x, DType::Float32) : x; }

NodeRef widened(const Node& node) {
  std::vector<Value> operands;
  for (const Value& operand : node.operands) operands.push_back(widened(operand));
  return make_node(node.op, node.attrs, std::move(operands));
}

}  // namespace kiln::ir
