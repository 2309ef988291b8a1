// Iterative traversal. Order depends on the graph's structure alone, never on addresses.
#pragma once

#include "core/ir/lambda.h"

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

namespace kiln::ir {

/// Every node that `roots` reach, operands before users, each once. Does not enter lambdas.
std::vector<const Node*> topological_order(std::span<const Value> roots);
/// The same, not going through values for which `stop` is true.
using StopAt = std::function<bool(const Value&)>;
std::vector<const Node*> topological_order(std::span<const Value> roots, const StopAt& stop);

/// Which results of each node are used by another node of `order` or by a root.
using UseCounts = std::unordered_map<Value, std::size_t, ValueHash>;
UseCounts count_uses(std::span<const Node* const> order, std::span<const Value> roots);

/// Calls visit for each lambda in the node's attributes (a Scan's body, a Cond's branches).
void for_each_lambda(const Node& node, const std::function<void(const Lambda&)>& visit);

}  // namespace kiln::ir
