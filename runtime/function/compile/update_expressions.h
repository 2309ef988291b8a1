// The expressions that all ranks must compute alike, so that their variables stay equal.
#pragma once

#include "core/ir/graph.h"
#include "runtime/distributed/operation.h"

namespace kiln::runtime {

/// Returns the updates of variables that are not per_rank, in their order, each with a hash that is
/// equal in all processes for equal expressions: of ops, attributes, types and the bytes of
/// constants, but of a variable only its place among those of all these expressions, in the order
/// of their creation, and of a collective its place in the order of the graph: what it depends on
/// may differ between ranks. Source lines, what is printed and names do not count, but for the name
/// of the variable that is updated.
/// Empty for a graph without collectives, on whose calls ranks do not agree. O(nodes) per
/// collective. REQUIRES: require_equal_updates() of replicas.h.
distributed::UpdateExpressions update_expressions(const ir::Graph& graph);

}  // namespace kiln::runtime
