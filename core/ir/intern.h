// Hash-consing of nodes: equal structure is the same node. The table finds live nodes by structure;
// it does not keep them alive. All functions are thread-safe.
#pragma once

#include "core/ir/node.h"

#include <span>

namespace kiln::ir {

/// The live node with this structure, or an empty reference. Adds `origin` to the node's origins.
NodeRef find_interned(Op op, const Attrs& attrs, std::span<const Value> operands, Origin origin);
/// The node with this structure; creates it with `types` if there is none.
NodeRef intern(Op op, Attrs attrs, std::vector<Value> operands, std::vector<Type> types,
               Origin origin);

/// The distinct origins at which the node was requested, the first kMaxOrigins of them.
std::vector<Origin> origins(const Node& node);
inline constexpr std::size_t kMaxOrigins = 8;

/// The number of live nodes, for leak tests.
std::size_t live_node_count();

}  // namespace kiln::ir
