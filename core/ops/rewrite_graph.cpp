#include "core/ops/rewrite_graph.h"

#include "core/ir/traverse.h"
#include "core/ops/lambda_builder.h"

#include <unordered_map>

namespace kiln::ir {

std::vector<Value> rewrite_nodes(std::span<const Value> roots, const NodeChange& change) {
  return rewrite_nodes(roots, change, StopAt());
}

std::vector<Value> rewrite_nodes(std::span<const Value> roots, const NodeChange& change,
                                 const std::function<bool(const Value&)>& stop) {
  std::unordered_map<const Node*, std::vector<Value>> changed;
  const auto mapped = [&](const Value& value) {
    const auto found = changed.find(value.node.get());
    return found == changed.end() ? value : found->second[value.index];
  };
  for (const Node* node : topological_order(roots, stop)) {
    std::vector<Value> operands;
    operands.reserve(node->operands.size());
    for (const Value& operand : node->operands) operands.push_back(mapped(operand));
    const NodeRef rebuilt = with_operands(*node, std::move(operands));
    const OriginScope scope(node->origin, /*replace=*/true);
    changed.emplace(node, change(rebuilt));
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

NodeRef change_lambdas(const NodeRef& node, const ResultsChange& change) {
  bool has_lambda = false;
  for_each_lambda(*node, [&](const Lambda&) { has_lambda = true; });
  if (!has_lambda) return node;
  return with_lambdas(*node, [&](const Lambda& lambda) {
    return std::make_shared<const Lambda>(Lambda{lambda.parameters, change(lambda.results)});
  });
}

Graph with_roots(const Graph& graph, const std::vector<Value>& roots) {
  Graph result = graph;
  std::size_t next = 0;
  for (Value& output : result.outputs) output = roots[next++];
  for (Update& update : result.updates) update.value = roots[next++];
  return result;
}

}  // namespace kiln::ir
