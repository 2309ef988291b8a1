// Rewrites graphs bottom-up; every pass is built on these functions.
#pragma once

#include "core/ir/lambda.h"
#include "core/ir/graph.h"

#include <functional>
#include <span>

namespace kiln::ir {

/// Replaces one node, whose operands are rewritten already, by a value per result.
using NodeChange = std::function<std::vector<Value>(const NodeRef& node)>;
/// Applies `change` to every node, operands first, and returns the new roots. Does not enter
/// lambdas.
std::vector<Value> rewrite_nodes(std::span<const Value> roots, const NodeChange& change);
/// The same, but does not go beyond values for which `stop` is true.
std::vector<Value> rewrite_nodes(std::span<const Value> roots, const NodeChange& change,
                                 const std::function<bool(const Value&)>& stop);

/// All results of a node.
std::vector<Value> results_of(const NodeRef& node);
std::vector<Value> results_of(const Node& node);

/// `node` with other operands; the node itself if they are equal.
NodeRef with_operands(const Node& node, std::vector<Value> operands);
/// `node` with each lambda replaced by change(lambda).
NodeRef with_lambdas(const Node& node,
                     const std::function<std::shared_ptr<const Lambda>(const Lambda&)>& change);

/// `node` with the results of each of its lambdas replaced by change(results); the node itself if
/// it has none or nothing changes.
using ResultsChange = std::function<std::vector<Value>(const std::vector<Value>& results)>;
NodeRef change_lambdas(const NodeRef& node, const ResultsChange& change);

/// `graph` with other roots. REQUIRES: they are in the order of Graph::roots().
Graph with_roots(const Graph& graph, const std::vector<Value>& roots);

}  // namespace kiln::ir
