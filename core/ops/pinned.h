// Pinned nodes: those that must not run speculatively, where the branch or the loop body that holds
// them might not.
#pragma once

#include "core/ops/op.h"

namespace kiln::ir {

/// Whether a node must not be hoisted out of its lambda although its operands are available
/// outside: it can fail (guards, or indices that are data), reads state (random draws, host calls),
/// or holds a lambda with guards or with such a node. Derived from the OpDef: its type rule,
/// lowering class and reads_state.
bool is_pinned(const Node& node);

}  // namespace kiln::ir
