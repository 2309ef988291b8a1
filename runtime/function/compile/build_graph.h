// The front half of K::function: from the user's tensors to a checked Graph.
#pragma once

#include "core/ir/graph.h"

#include <kiln/update.h>

namespace kiln::runtime {

/// Builds a graph and checks it: inputs are distinct placeholders and include every placeholder
/// that a result depends on (learning_phase() defaults to 0); updates are of distinct
/// variables and have their types. Collectives of one rank are replaced by their operands.
/// `after_updates`: outputs read the new values of updated
/// variables. Throws TypeError or ValueError naming the argument.
ir::Graph build_graph(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                      const std::vector<UpdateOp>& updates, bool after_updates = false);

}  // namespace kiln::runtime
