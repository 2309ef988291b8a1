// Which nodes must run only where the program asks for them: not outside of a branch that is not
// taken, nor outside of a loop of no steps.
#pragma once

#include "core/ops/op.h"

namespace kiln::ir {

/// Whether a node must stay in the lambda that wrote it although all of its operands exist outside.
/// True for nodes that may end a call with an error (they have guards, or read or write at indices
/// that are data), that read state (random draws, host calls), or that have a lambda with guards or
/// with such a node. Follows from the op's definition: its type rule, lowering class and flags.
bool is_pinned(const Node& node);

}  // namespace kiln::ir
