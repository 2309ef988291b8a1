// Outputs that are computed after a call's updates.
#pragma once

#include "core/ir/graph.h"

#include <vector>

namespace kiln::runtime {

/// The graph's outputs with each updated variable replaced by its new value. Sizes that a host
/// function decides from such a variable are decided again, from the new value.
/// Before: outputs {w * 2}, updates {w: w + 1}. After: outputs {(w + 1) * 2}, the same updates.
std::vector<ir::Value> outputs_after_updates(const ir::Graph& graph);

}  // namespace kiln::runtime
