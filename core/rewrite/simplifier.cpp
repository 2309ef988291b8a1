// The rewrite driver: bottom-up, at each node until no rule applies.
#include "core/ops/build.h"
#include "core/ops/convert.h"
#include "core/ops/rewrite_graph.h"
#include "core/ops/table.h"
#include "core/rewrite/rules.h"
#include "core/types/no_destructor.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <array>
#include <tuple>

namespace kiln::rewrite {
namespace {

using ir::Node;
using ir::Value;

/// The limit of rewrites at one node. Every rule lowers the measure in rules.h, so that only a
/// wrong rule reaches it.
constexpr int kMaxDepth = 64;

Value first_match(const Node& node, std::string_view* rule) {
  if (Value folded = fold_constants(node)) {
    *rule = kFoldConstants;
    return folded;
  }
  const OpRules& rules = rules_of(node.op);
  for (const StructuralRule* structural : rules.structural) {
    if (Value value = structural->apply(node)) {
      *rule = structural->name;
      return value;
    }
  }
  for (const Equation* equation : rules.equations) {
    if (Value value = try_equation(*equation, node)) {
      *rule = equation->name;
      return value;
    }
  }
  return {};
}

using RuleIndex = std::array<OpRules, ir::kOpCount>;

RuleIndex make_index() {
  RuleIndex index;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const auto op = static_cast<ir::Op>(i);
    OpRules& rules = index[i];
    for (const StructuralRule& rule : structural_rules()) {
      if (rule.root(op)) rules.structural.push_back(&rule);
    }
    for (const Equation& equation : equations()) {
      if (equation.root() == op) rules.equations.push_back(&equation);
    }
  }
  return index;
}

}  // namespace

const OpRules& rules_of(ir::Op op) {
  static constinit OnceConstructed<RuleIndex> index;
  return index.get(make_index)[static_cast<std::size_t>(op)];
}

Value fold_constants(const Node& node) {
  if (def(node).lowering != ir::Lowering::Elementwise || node.operands.empty()) return {};
  for (const Value& operand : node.operands) {
    if (operand.node->op != ir::Op::Constant || operand.rank() != 0) return {};
  }
  return ir::fold_scalar(node);
}

ir::NodeRef Simplifier::canonical(const ir::NodeRef& node) {
  if (!def(*node).commutative || node->operands.size() != 2) return node;
  // Constants last, other operands by first visit: an order that follows the graph's structure.
  const auto key = [&](const Value& value) {
    const bool constant = value.node->op == ir::Op::Constant ||
                          (value.node->op == ir::Op::Broadcast &&
                           value.node->operands[0].node->op == ir::Op::Constant);
    const std::size_t* found = numbers_.find(value.node.get());
    const std::size_t number = found == nullptr ? numbers_.size() : *found;
    return std::tuple(constant, number, value.index);
  };
  if (key(node->operands[0]) <= key(node->operands[1])) return node;
  return ir::make_node(node->op, node->attrs, {node->operands[1], node->operands[0]});
}

Value Simplifier::simplify_node(const ir::NodeRef& original, int depth) {
  const ir::NodeRef node = canonical(original);
  std::string_view rule;
  const Value replaced = first_match(*node, &rule);
  if (!replaced) {
    numbers_.emplace(node.get(), numbers_.size());
    return {node, 0};
  }
  if (depth == kMaxDepth) {
    throw InternalError("function", "",
                        text("simplify does not terminate: rule ", rule, " at op ", def(*node).name,
                             "; please report this"),
                        node->origin.where);
  }
  if (observer_) observer_(rule, *node);
  // The rule built new nodes on values that are simplified already: simplify the new ones.
  const auto is_done = [&](const Value& value) { return numbers_.contains(value.node.get()); };
  const auto change = [&](const ir::NodeRef& created) -> std::vector<Value> {
    if (created->types.size() != 1) return ir::results_of(created);
    return {simplify_node(created, depth + 1)};
  };
  return ir::rewrite_nodes({&replaced, 1}, change, is_done)[0];
}

std::vector<Value> Simplifier::simplify(const std::vector<Value>& roots) {
  return ir::rewrite_nodes(roots, [&](const ir::NodeRef& node) -> std::vector<Value> {
    const ir::NodeRef inner = ir::change_lambdas(node, [&](const std::vector<Value>& results) {
      return Simplifier(observer_).simplify(results);
    });
    if (inner->types.size() != 1) {
      numbers_.emplace(inner.get(), numbers_.size());
      return ir::results_of(inner);
    }
    return {simplify_node(inner, 0)};
  });
}

}  // namespace kiln::rewrite
