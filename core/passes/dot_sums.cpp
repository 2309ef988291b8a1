// Collects additions with one use into their user's tree, then the leaves of each tree.
#include "core/passes/dot_sums.h"

#include "core/ir/traverse.h"
#include "core/ops/build.h"
#include "core/ops/halves.h"

#include <algorithm>
#include <unordered_set>

namespace kiln::passes {
namespace {

using ir::DotAttrs;
using ir::Ints;
using ir::Node;
using ir::Op;
using ir::Value;

bool contains(const Ints& labels, std::int64_t label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

bool is_addition(const Node& node) { return node.op == Op::Add && is_float(node.types[0].dtype); }

std::vector<Value> terms_of(const Node& root, const std::unordered_set<const Node*>& inner) {
  std::vector<Value> terms, stack(root.operands.rbegin(), root.operands.rend());
  while (!stack.empty()) {
    const Value next = stack.back();
    stack.pop_back();
    if (inner.count(next.node.get()) == 0) {
      terms.push_back(next);
    } else {
      stack.insert(stack.end(), next.node->operands.rbegin(), next.node->operands.rend());
    }
  }
  return terms;
}

}  // namespace

std::vector<SumTree> find_sums(std::span<const Node* const> order, std::span<const Value> roots) {
  const ir::UseCounts uses = ir::count_uses(order, roots);
  std::unordered_set<const Node*> additions, inner;
  for (const Node* node : order) {
    if (!is_addition(*node)) continue;
    additions.insert(node);
    for (const Value& operand : node->operands) {
      // One that is not in `order`, such as a const of a loop, is a term.
      const Node* summand = operand.node.get();
      if (additions.count(summand) != 0 && uses.at(operand) == 1) inner.insert(summand);
    }
  }
  std::vector<SumTree> trees;
  for (const Node* node : order) {
    if (!is_addition(*node) || inner.count(node) != 0) continue;
    SumTree tree{.sum = node->result(), .terms = terms_of(*node, inner), .is_own = {}};
    for (const Value& term : tree.terms) tree.is_own.push_back(uses.at(term) == 1);
    trees.push_back(std::move(tree));
  }
  return trees;
}

std::optional<std::size_t> contracted_with(const Node& dot, std::size_t side, std::size_t axis) {
  const auto& attrs = dot.as<DotAttrs>();
  const Ints &own = side == 0 ? attrs.lhs : attrs.rhs, &other = side == 0 ? attrs.rhs : attrs.lhs;
  const std::int64_t label = own[axis];
  const auto found = std::find(other.begin(), other.end(), label);
  if (found == other.end() || contains(attrs.result, label)) return std::nullopt;
  return static_cast<std::size_t>(found - other.begin());
}

std::optional<ContractedAxis> only_contracted_axis(const Node& dot, std::size_t side) {
  std::optional<ContractedAxis> only;
  for (std::size_t axis = 0; axis < dot.operands[side].dims().size(); ++axis) {
    const auto other = contracted_with(dot, side, axis);
    if (!other) continue;
    if (only) return std::nullopt;
    only = ContractedAxis{axis, *other};
  }
  return only;
}

bool equal_but_for(const ir::Type& a, const ir::Type& b, std::size_t axis) {
  if (a.dtype != b.dtype || a.dims.size() != b.dims.size()) return false;
  for (std::size_t i = 0; i < a.dims.size(); ++i) {
    if (i != axis && a.dims[i] != b.dims[i]) return false;
  }
  return true;
}

Value sum_with(const SumTree& tree, const MergedDots& dots) {
  const Node& first = *tree.terms[dots.terms.front()].node;
  const ir::OriginScope scope(first.origin, /*replace=*/true);
  std::vector<Value> others;
  for (const std::size_t term : dots.terms) {
    others.push_back(tree.terms[term].node->operands[1 - dots.side]);
  }
  std::vector<Value> operands(2);
  operands[dots.side] = dots.operand;
  operands[1 - dots.side] = ir::concat(std::move(others), static_cast<int>(dots.other_axis));
  // The matmul of all terms rounds the sum itself; one of some rounds a value that was not rounded.
  const bool widens = dots.terms.size() < tree.terms.size();
  const auto summed = [&](const Value& x) { return widens ? ir::widened(x) : x; };
  for (Value& operand : operands) operand = summed(operand);
  const Value dot = ir::make(Op::Dot, first.attrs, std::move(operands));

  const auto is_merged = [&](std::size_t term) {
    return std::find(dots.terms.begin(), dots.terms.end(), term) != dots.terms.end();
  };
  Value sum;
  bool has_dot = false;
  for (std::size_t i = 0; i < tree.terms.size(); ++i) {
    if (is_merged(i) && has_dot) continue;
    const Value term = is_merged(i) ? dot : summed(tree.terms[i]);
    has_dot = has_dot || is_merged(i);
    sum = sum ? ir::binary(Op::Add, sum, term) : term;
  }
  return ir::cast(sum, tree.sum.dtype());
}

}  // namespace kiln::passes
