// A channels_first program permutes before and after each convolution. Moving a permutation past
// the elementwise work between two convolutions makes it meet the next one and cancel; moving it
// past a reduction lets the reduction read memory in order.
#include "backends/codegen/graph/sink_permutes.h"

#include "backends/codegen/graph/permutations.h"
#include "core/ir/traverse.h"
#include "core/ops/build.h"
#include "core/ops/rewrite_graph.h"
#include "core/types/at.h"

#include <algorithm>
#include <variant>

namespace kiln::codegen {
namespace {

using ir::Dims;
using ir::Ints;
using ir::Node;
using ir::NodeRef;
using ir::Op;
using ir::Value;

const Ints* permutation(const Value& value) {
  return value.node->op == Op::Permute ? &value.node->as<ir::AxesAttrs>().axes : nullptr;
}

bool is_broadcast(const Value& value) { return value.node->op == Op::Broadcast; }

/// The permutation that all operands of an elementwise node share. Broadcasts and bool masks, as
/// dropout has them, are left out: they are small, so that permuting them costs little. Null when
/// there is no such permutation.
const Ints* shared_permutation(const Node& node) {
  const bool plain = def(node).lowering == ir::Lowering::Elementwise || def(node).alias;
  if (!plain || node.op == Op::Reshape) return nullptr;
  const Ints* shared = nullptr;
  for (const Value& operand : node.operands) {
    if (is_broadcast(operand)) continue;
    const Ints* own = permutation(operand);
    if (!own && operand.dtype() == DType::Bool) continue;
    if (!own || (shared && *shared != *own)) return nullptr;
    shared = own;
  }
  return shared;
}

/// reduce(permute(x)) as permute(reduce(x)).
Value reduced_first(const Node& node, const Ints& permuted) {
  const Ints& axes = node.as<ir::AxesAttrs>().axes;
  Ints reduced, kept;  // axes of x, in the order of the permutation
  for (std::size_t i = 0; i < permuted.size(); ++i) {
    const bool is_reduced =
        std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) != axes.end();
    (is_reduced ? reduced : kept).push_back(permuted[i]);
  }
  std::sort(reduced.begin(), reduced.end());
  Ints sorted = kept, order;
  std::sort(sorted.begin(), sorted.end());
  for (const std::int64_t axis : kept) {
    order.push_back(std::find(sorted.begin(), sorted.end(), axis) - sorted.begin());
  }
  return ir::permute(ir::reduce(node.op, node.operands[0].node->operands[0], reduced), order);
}

std::vector<Value> sunk(const NodeRef& node) {
  if (node->op == Op::Permute) {
    const Value& operand = node->operands[0];
    const Ints* first = permutation(operand);
    if (!first) return ir::results_of(node);
    const Ints axes = composed(*first, node->as<ir::AxesAttrs>().axes);
    return {ir::permute(operand.node->operands[0], axes)};
  }
  if (def(*node).lowering == ir::Lowering::Reduce &&
      std::holds_alternative<ir::AxesAttrs>(node->attrs)) {
    const Ints* axes = permutation(node->operands[0]);
    return axes ? std::vector<Value>{reduced_first(*node, *axes)} : ir::results_of(node);
  }
  const Ints* shared = shared_permutation(*node);
  if (!shared) return ir::results_of(node);
  const Ints back = inverse(*shared);
  std::vector<Value> operands;
  for (const Value& operand : node->operands) {
    operands.push_back(is_broadcast(operand)  ? permuted_broadcast(operand, back)
                       : permutation(operand) ? operand.node->operands[0]
                                              : ir::permute(operand, back));
  }
  return {ir::permute(ir::make(node->op, node->attrs, operands), *shared)};
}

}  // namespace

std::vector<Value> sink_permutes(const std::vector<Value>& results, const LibraryClaims* library) {
  const std::vector<const Node*> nodes = ir::topological_order(results);
  // In a graph without convolutions, a permutation is a view, which costs nothing.
  const bool convolves = std::any_of(nodes.begin(), nodes.end(),
                                     [](const Node* node) { return node->op == Op::Conv; });
  const auto of_body = [&](const std::vector<Value>& body) { return sink_permutes(body, library); };
  return ir::rewrite_nodes(results, [&](const NodeRef& node) -> std::vector<Value> {
    const NodeRef inner = ir::change_lambdas(node, of_body);
    return convolves ? sunk(inner) : ir::results_of(inner);
  });
}

}  // namespace kiln::codegen
