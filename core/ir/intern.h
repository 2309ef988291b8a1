// Interning of nodes: the same structure is the same node. The table behind it finds live nodes by
// structure and does not keep them alive.
#pragma once

#include "core/ir/node.h"

#include <span>

namespace kiln::ir {

/// The node of this structure if it lives, else an empty reference; notes `origin` on it.
NodeRef find_interned(Op op, const Attrs& attrs, std::span<const Value> operands, Origin origin);
/// The interned node of this structure, made with `types` when new. Thread-safe.
NodeRef intern(Op op, Attrs attrs, std::vector<Value> operands, std::vector<Type> types,
               Origin origin);

/// Every distinct source line the node was made at (at most kMaxOrigins are kept).
std::vector<Origin> origins(const Node& node);
inline constexpr std::size_t kMaxOrigins = 8;

/// How many nodes live now (for tests of leaks).
std::size_t live_node_count();

}  // namespace kiln::ir
