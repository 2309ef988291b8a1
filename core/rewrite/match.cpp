// Matches the left side of an equation against a node, and instantiates the right side.
#include "core/ops/build.h"
#include "core/ops/convert.h"
#include "core/rewrite/rules.h"
#include "core/types/at.h"

#include <algorithm>
#include <array>

namespace kiln::rewrite {
namespace {

using ir::Node;
using ir::Value;

constexpr std::size_t kMaxVariables = 4;
using Binding = std::array<const Value*, kMaxVariables>;  // null: not bound yet

/// The constant, if the value is a scalar constant or a broadcast of one; else null.
const ir::ConstantAttrs* as_scalar_constant(const Value& value) {
  const Node* node = value.node.get();
  while (node->op == ir::Op::Broadcast) node = node->operands[0].node.get();
  if (node->op != ir::Op::Constant) return nullptr;
  const auto& attrs = node->as<ir::ConstantAttrs>();
  return attrs.data.bytes->size() == dtype_bytes(attrs.type.dtype) ? &attrs : nullptr;
}

bool is_number(const Value& value, double number) {
  const ir::ConstantAttrs* constant = as_scalar_constant(value);
  if (constant == nullptr) return false;
  std::array<std::byte, 8> bytes{};  // of the widest dtype
  ir::convert_elements(DType::Float64, reinterpret_cast<const std::byte*>(&number), value.dtype(),
                       bytes.data(), 1);
  return std::equal(constant->data.bytes->begin(), constant->data.bytes->end(), bytes.begin());
}

bool match(const Pattern& pattern, const Value& value, Binding& binding);
bool match_node(const Application& pattern, const Node& node, Binding& binding);

bool match_operands(const Application& pattern, const std::vector<Value>& operands, bool swapped,
                    Binding& binding) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::size_t position = swapped ? operands.size() - 1 - i : i;
    if (!match(pattern.operands[i], operands[position], binding)) return false;
  }
  return true;
}

bool match(const Pattern& pattern, const Value& value, Binding& binding) {
  if (const auto* number = pattern.as<Number>()) return is_number(value, number->value);
  if (const auto* variable = pattern.as<Variable>()) {
    const Value*& bound = binding[at(variable->index)];
    if (bound != nullptr) return *bound == value;
    if (variable->is_condition && value.dtype() != DType::Bool) return false;
    bound = &value;
    return true;
  }
  return match_node(*pattern.as<Application>(), *value.node, binding);
}

/// Leaves `binding` as it was unless the node matches.
bool match_node(const Application& pattern, const Node& node, Binding& binding) {
  if (node.op != pattern.op || node.operands.size() != pattern.operands.size()) return false;
  const Binding before = binding;
  if (match_operands(pattern, node.operands, /*swapped=*/false, binding)) return true;
  binding = before;
  if (!def(node).commutative) return false;
  if (match_operands(pattern, node.operands, /*swapped=*/true, binding)) return true;
  binding = before;
  return false;
}

/// The dtype of the equation's variables: of the first operand that is not a condition.
DType dtype_of(const Node& node) {
  return node.operands[node.op == ir::Op::Select ? 1 : 0].dtype();
}

}  // namespace

Value instantiate(const Pattern& pattern, std::span<const Value> variables,
                  const ir::Type& shape_of) {
  if (const auto* number = pattern.as<Number>()) {
    return ir::full(shape_of.dtype, shape_of.dims, number->value);
  }
  if (const auto* variable = pattern.as<Variable>()) return variables[at(variable->index)];
  const auto& application = *pattern.as<Application>();
  std::vector<Value> operands;
  for (const Pattern& operand : application.operands) {
    const bool is_condition = application.op == ir::Op::Select && operands.empty();
    operands.push_back(instantiate(operand, variables,
                                   is_condition ? ir::Type{DType::Bool, shape_of.dims} : shape_of));
  }
  return ir::make(application.op, ir::NoAttrs{}, std::move(operands));
}

Value try_equation(const Equation& equation, const Node& node) {
  if (node.op != equation.root()) return {};
  const DType dtype = dtype_of(node);
  if ((equation.dtypes & ir::dtype_bit(dtype)) == 0) return {};
  Binding binding{};
  if (!match_node(*equation.left.as<Application>(), node, binding)) return {};
  std::array<Value, kMaxVariables> variables;
  for (std::size_t i = 0; i < kMaxVariables; ++i) {
    if (binding[i] != nullptr) variables[i] = *binding[i];
  }
  // A right side that is just a number has the dtype of the result: bool for a comparison.
  const bool is_result = equation.right.as<Number>() != nullptr;
  const ir::Type numbers{is_result ? node.types[0].dtype : dtype, node.types[0].dims};
  return instantiate(equation.right, variables, numbers);
}

}  // namespace kiln::rewrite
