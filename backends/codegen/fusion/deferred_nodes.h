// Deferred nodes: elementwise work on arguments and constants alone, with one consumer. Added in
// topological order, such a node could join an unrelated kernel that reads the same constant, and
// would order that kernel before the consumer.
//
// Example: %1 = exp %a; %3 = mul %1 %2, where %2 is computed: %1 is added just before %3.
#pragma once

#include "backends/codegen/fusion/fusion_plan.h"

#include <unordered_set>

namespace kiln::codegen {

/// The nodes to add when their consumer is added. `order`: all nodes, operands first. Reads which
/// nodes of the plan are dense and which are rematerialised.
std::unordered_set<const ir::Node*> deferred_nodes(const std::vector<const ir::Node*>& order,
                                                   const SizeNames& names, const FusionPlan& plan);

}  // namespace kiln::codegen
