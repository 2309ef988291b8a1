// Constructs nodes. Apart from node.cpp, since their nesting needs lambdas, which hold nodes.
#include "core/ir/lambda.h"
#include "core/ir/traverse.h"

#include <algorithm>

namespace kiln::ir {
namespace {

/// Does not enter nested lambdas, whose nodes know their own nesting.
std::uint32_t nesting_of(const Attrs& attrs) {
  std::uint32_t nesting = 0;
  for_each_field(attrs, [&](const char*, const auto& member) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, LambdaRef>) {
      if (!member.lambda) return;
      nesting = std::max(nesting, 1u);
      for (const Node* node : topological_order(member->results)) {
        nesting = std::max(nesting, node->nesting + 1);
      }
    }
  });
  return nesting;
}

bool is_open_parameter(const Attrs& attrs) {
  const auto* parameter = std::get_if<ParameterAttrs>(&attrs);
  return parameter && parameter->scope != 0;
}

}  // namespace

Node::Node(Op op, Attrs attrs, std::vector<Value> operands, std::vector<Type> types, Origin origin,
           std::size_t hash)
    : op(op),
      attrs(std::move(attrs)),
      operands(std::move(operands)),
      types(std::move(types)),
      origin(origin),
      nesting(nesting_of(this->attrs)),
      is_open(is_open_parameter(this->attrs) ||
              std::any_of(this->operands.begin(), this->operands.end(),
                          [](const Value& operand) { return operand.node->is_open; })),
      hash_(hash) {}

}  // namespace kiln::ir
