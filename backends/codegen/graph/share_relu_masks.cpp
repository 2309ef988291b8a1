// ReLU's gradient needs the mask x <= 0. If x is a matmul result, use y = relu(x) instead: y <= 0
// is the same mask, x need not be stored, and bias and ReLU can be fused into the matmul.
#include "backends/codegen/graph/share_relu_masks.h"

#include "core/ops/build.h"
#include "core/ops/rewrite_graph.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Node;
using ir::NodeRef;
using ir::Op;
using ir::Value;

bool is_zero(const Value& value) {
  const Node& node = *value.node;
  if (node.op == Op::Broadcast) return is_zero(node.operands[0]);
  if (node.op != Op::Constant || value.rank() != 0) return false;
  const auto& bytes = *node.as<ir::ConstantAttrs>().data.bytes;
  return std::all_of(bytes.begin(), bytes.end(),
                     [](std::byte byte) { return byte == std::byte{0}; });
}

bool is_contraction(const Node& node) { return node.op == Op::Dot || node.op == Op::Conv; }

bool is_contraction_with_bias(const Value& value) {
  const Node& node = *value.node;
  if (node.op != Op::Add) return is_contraction(node);
  return is_contraction(*node.operands[0].node) || is_contraction(*node.operands[1].node);
}

/// The condition of select(x <= 0, 0, x), where x is a matmul or a convolution, with or without
/// bias; otherwise null.
const Node* condition_of_relu(const Node& node) {
  if (node.op != Op::Select || !is_zero(node.operands[1])) return nullptr;
  const Node& condition = *node.operands[0].node;
  const Value& x = node.operands[2];
  const bool fits = condition.op == Op::LessEqual && condition.operands[0] == x &&
                    is_zero(condition.operands[1]) && is_contraction_with_bias(x);
  return fits ? &condition : nullptr;
}

}  // namespace

std::vector<Value> share_relu_masks(const std::vector<Value>& results,
                                    const LibraryClaims* library) {
  std::unordered_map<const Node*, Value> masks;  // relu(x) <= 0, by the node x <= 0
  const auto of_body = [&](const std::vector<Value>& body) {
    return share_relu_masks(body, library);
  };
  return ir::rewrite_nodes(results, [&](const NodeRef& given) -> std::vector<Value> {
    const NodeRef node = ir::change_lambdas(given, of_body);
    if (const Node* condition = condition_of_relu(*node)) {
      const Value relu = node->result();
      masks.try_emplace(condition, ir::binary(Op::LessEqual, relu, condition->operands[1]));
      return {relu};
    }
    std::vector<Value> operands = node->operands;
    bool changed = false;
    for (Value& operand : operands) {
      const auto found = masks.find(operand.node.get());
      if (found == masks.end()) continue;
      operand = found->second;
      changed = true;
    }
    if (!changed) return ir::results_of(node);
    return ir::results_of(ir::make(node->op, node->attrs, operands).node);
  });
}

}  // namespace kiln::codegen
