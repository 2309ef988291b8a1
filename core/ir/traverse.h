// Iterative graph traversal. The order depends on the graph's structure, never on addresses.
#pragma once

#include "core/ir/lambda.h"

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

namespace kiln::ir {

/// Every node that `roots` depend on, operands before users, each once. Does not enter lambdas.
/// O(nodes + edges).
std::vector<const Node*> topological_order(std::span<const Value> roots);
/// The same, without the values for which `stop` is true and what only they depend on.
using StopAt = std::function<bool(const Value&)>;
std::vector<const Node*> topological_order(std::span<const Value> roots, const StopAt& stop);

/// Whether the values depend on a node of that op; also searches the bodies of loops and branches.
bool reaches(std::span<const Value> roots, Op op);

/// The number of uses of each value: as an operand of a node in `order`, or as a root.
using UseCounts = std::unordered_map<Value, std::size_t, ValueHash>;
UseCounts count_uses(std::span<const Node* const> order, std::span<const Value> roots);

/// Calls `visit` for each lambda in the node's attributes: the body of a Scan, the branches of a
/// Cond.
void for_each_lambda(const Node& node, const std::function<void(const Lambda&)>& visit);

}  // namespace kiln::ir
