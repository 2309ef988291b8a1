// Matching a pattern against a node, and building the other side.
#include "core/ops/build.h"
#include "core/ops/convert.h"
#include "core/rewrite/rules.h"

#include <array>

namespace kiln::rewrite {
namespace {

using ir::Node;
using ir::Value;

constexpr std::size_t kMaxVariables = 4;
using Binding = std::array<Value, kMaxVariables>;

/// A scalar constant, or one spread over a shape: its bytes.
const ir::ConstantAttrs* filled_with(const Value& value) {
  const Node* node = value.node.get();
  while (node->op == ir::Op::Broadcast) node = node->operands[0].node.get();
  if (node->op != ir::Op::Constant) return nullptr;
  const auto& attrs = node->as<ir::ConstantAttrs>();
  return product(attrs.type.dims) == ir::Dim(1) ? &attrs : nullptr;
}

bool is_number(const Value& value, double number) {
  const ir::ConstantAttrs* constant = filled_with(value);
  return constant && *constant->data.bytes == ir::scalar_bytes(value.dtype(), number);
}

bool match(const Pattern& pattern, const Value& value, Binding& binding);

bool match_operands(const PatternNode& pattern, const std::vector<Value>& operands, bool swapped,
                    Binding& binding) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::size_t at = swapped ? operands.size() - 1 - i : i;
    if (!match(pattern.operands[i], operands[at], binding)) return false;
  }
  return true;
}

bool match(const Pattern& pattern, const Value& value, Binding& binding) {
  if (pattern->kind == PatternNode::Kind::Number) return is_number(value, pattern->number);
  if (pattern->kind == PatternNode::Kind::Variable) {
    Value& bound = binding[static_cast<std::size_t>(pattern->variable)];
    if (bound) return bound == value;
    if (pattern->is_bool && value.dtype() != DType::Bool) return false;
    bound = value;
    return true;
  }
  const Node& node = *value.node;
  if (node.op != pattern->op || node.operands.size() != pattern->operands.size()) return false;
  const Binding before = binding;
  if (match_operands(*pattern, node.operands, /*swapped=*/false, binding)) return true;
  binding = before;
  if (!def(node).commutative) return false;
  if (match_operands(*pattern, node.operands, /*swapped=*/true, binding)) return true;
  binding = before;
  return false;
}

/// The dtype that an equation is about: of the first operand that is not a condition.
DType dtype_of(const Node& node) {
  return node.operands[node.op == ir::Op::Select ? 1 : 0].dtype();
}

}  // namespace

Value instantiate(const Pattern& pattern, std::span<const Value> variables,
                  const ir::Type& shape_of) {
  if (pattern->kind == PatternNode::Kind::Number) {
    return ir::full(shape_of.dtype, shape_of.dims, pattern->number);
  }
  if (pattern->kind == PatternNode::Kind::Variable) {
    return variables[static_cast<std::size_t>(pattern->variable)];
  }
  std::vector<Value> operands;
  for (const Pattern& operand : pattern->operands) {
    operands.push_back(instantiate(operand, variables, shape_of));
  }
  return ir::make(pattern->op, ir::NoAttrs{}, std::move(operands));
}

Value try_equation(const Equation& equation, const Node& node) {
  if (node.op != equation.left->op) return {};
  const Value value = node.result();
  const DType dtype = dtype_of(node);
  if ((equation.dtypes & ir::dtype_bit(dtype)) == 0) return {};
  Binding binding;
  if (!match(equation.left, value, binding)) return {};
  // A number alone is the result itself (a comparison gives bool).
  const bool is_result = equation.right->kind == PatternNode::Kind::Number;
  const ir::Type numbers{is_result ? value.dtype() : dtype, value.dims()};
  return instantiate(equation.right, binding, numbers);
}

}  // namespace kiln::rewrite
