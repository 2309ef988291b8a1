// The check that updates keep the variables of all ranks equal: static, without cost at a call.
#pragma once

#include "core/ir/graph.h"

namespace kiln::runtime {

/// Requires that the new value of each variable is equal on all ranks, unless the variable is
/// per_rank. A value differs between ranks if it depends on an input, a random draw, a per_rank
/// variable, or a size of an input, and not through a collective of all ranks that gives them one
/// result; the learning phase counts as equal. Throws ValueError that names the variable and the
/// cause. REQUIRES: the scope of the K function that the user called.
void require_equal_updates(const ir::Graph& graph);

/// Whether a placeholder is that of learning_phase(), also in a module that was read from a file.
bool is_learning_phase(const ir::Node& placeholder);

}  // namespace kiln::runtime
