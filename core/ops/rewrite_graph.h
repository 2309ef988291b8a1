// Rebuilding graphs bottom-up: what every pass is made of.
#pragma once

#include "core/ir/lambda.h"
#include "core/ir/graph.h"

#include <functional>
#include <span>

namespace kiln::ir {

/// The replacement of one node, given with its operands rewritten already: a value per result.
using NodeChange = std::function<std::vector<Value>(const NodeRef& node)>;
/// `roots` with every node changed, operands first. Does not enter lambdas by itself.
std::vector<Value> rewrite_nodes(std::span<const Value> roots, const NodeChange& change);
/// The same, leaving values for which `stop` is true, and what only they need, as they are.
std::vector<Value> rewrite_nodes(std::span<const Value> roots, const NodeChange& change,
                                 const std::function<bool(const Value&)>& stop);

/// All results of a node.
std::vector<Value> results_of(const NodeRef& node);
std::vector<Value> results_of(const Node& node);

/// `node` with other operands (and the same attributes); the node itself when they are equal.
NodeRef with_operands(const Node& node, std::vector<Value> operands);
/// `node` with each lambda replaced by change(lambda).
NodeRef with_lambdas(const Node& node,
                     const std::function<std::shared_ptr<const Lambda>(const Lambda&)>& change);

/// `node` with the results of each of its lambdas replaced by change(results); the node itself
/// when it has none or nothing changes.
using ResultsChange = std::function<std::vector<Value>(const std::vector<Value>& results)>;
NodeRef change_lambdas(const NodeRef& node, const ResultsChange& change);

/// `graph` with other roots, in the order of Graph::roots().
Graph with_roots(const Graph& graph, const std::vector<Value>& roots);

}  // namespace kiln::ir
