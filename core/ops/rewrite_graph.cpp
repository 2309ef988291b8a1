// Rebuilds nodes in topological order; a node whose operands are unchanged stays the same pointer.
#include "core/ops/rewrite_graph.h"

#include "core/ir/node_map.h"
#include "core/ir/traverse.h"
#include "core/ops/make.h"

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>

namespace kiln::ir {

namespace {

/// The node on mapped operands; the node itself if they are unchanged.
template <class Mapped>
NodeRef with_mapped_operands(const Node& node, const Mapped& mapped) {
  const auto is_same = [&](const Value& operand) { return mapped(operand) == operand; };
  if (std::all_of(node.operands.begin(), node.operands.end(), is_same)) {
    return node.result(0).node;
  }
  std::vector<Value> operands;
  operands.reserve(node.operands.size());
  for (const Value& operand : node.operands) operands.push_back(mapped(operand));
  return with_operands(node, std::move(operands));
}

}  // namespace

std::vector<Value> rewrite_nodes(std::span<const Value> roots, const NodeChange& change) {
  return rewrite_nodes(roots, change, StopAt());
}

std::vector<Value> rewrite_nodes(std::span<const Value> roots, const NodeChange& change,
                                 const std::function<bool(const Value&)>& stop) {
  const std::vector<const Node*> order = topological_order(roots, stop);
  NodeMap<std::size_t> first(order.size());  // the index in `changed` of a node's result 0
  std::vector<Value> changed;
  changed.reserve(order.size());
  const auto mapped = [&](const Value& value) -> const Value& {
    const std::size_t* found = value ? first.find(value.node.get()) : nullptr;
    return found == nullptr ? value : changed[*found + value.index];
  };
  for (const Node* node : order) {
    const NodeRef rebuilt = with_mapped_operands(*node, mapped);
    const OriginScope scope(node->origin, /*replace=*/true);
    std::vector<Value> results = change(rebuilt);
    first.emplace(node, changed.size());
    changed.insert(changed.end(), std::make_move_iterator(results.begin()),
                   std::make_move_iterator(results.end()));
  }
  std::vector<Value> results;
  for (const Value& root : roots) results.push_back(mapped(root));
  return results;
}

std::vector<Value> results_of(const NodeRef& node) {
  std::vector<Value> results;
  for (std::uint32_t i = 0; i < node->types.size(); ++i) results.push_back({node, i});
  return results;
}

std::vector<Value> results_of(const Node& node) { return results_of(node.result().node); }

NodeRef with_operands(const Node& node, std::vector<Value> operands) {
  if (operands == node.operands) return node.result(0).node;
  const OriginScope scope(node.origin, /*replace=*/true);
  return make_node(node.op, node.attrs, std::move(operands));
}

NodeRef with_lambdas(const Node& node,
                     const std::function<std::shared_ptr<const Lambda>(const Lambda&)>& change) {
  Attrs attrs = node.attrs;
  for_each_field(attrs, [&](const char*, auto& member) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, LambdaRef>) {
      member.lambda = change(*member);
    }
  });
  const OriginScope scope(node.origin, /*replace=*/true);
  return make_node(node.op, std::move(attrs), node.operands);
}

NodeRef change_lambdas(const NodeRef& node, const ResultsChange& change) {
  bool has_lambda = false;
  for_each_lambda(*node, [&](const Lambda&) { has_lambda = true; });
  if (!has_lambda) return node;
  return with_lambdas(*node, [&](const Lambda& lambda) {
    return std::make_shared<const Lambda>(
        Lambda{lambda.parameters, change(lambda.results), lambda.guards});
  });
}

Graph with_roots(const Graph& graph, const std::vector<Value>& roots) {
  Graph result = graph;
  std::size_t next = 0;
  for (Value& output : result.outputs) output = roots[next++];
  for (Update& update : result.updates) update.value = roots[next++];
  for (Value& size : result.sizes) size = roots[next++];
  return result;
}

}  // namespace kiln::ir
