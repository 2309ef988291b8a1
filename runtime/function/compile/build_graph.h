// The first half of K::function: from the user's tensors to a checked Graph.
#pragma once

#include "core/ir/graph.h"

#include <kiln/update.h>

namespace kiln::runtime {

/// Inputs are placeholders, each once; every placeholder that is needed is an input, except
/// learning_phase(), which counts as 0 when it is not; updates are of distinct variables and of
/// their types. With `after_updates` the outputs read the updates' values in place of the
/// updated variables. Throws TypeError or ValueError naming the argument.
ir::Graph build_graph(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                      const std::vector<UpdateOp>& updates, bool after_updates = false);

}  // namespace kiln::runtime
