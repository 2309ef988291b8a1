// Rewrites outputs so that they read the new values of updated variables.
#pragma once

#include "core/ir/graph.h"

#include <vector>

namespace kiln::runtime {

/// Replaces each updated variable in the graph's outputs by its new value. Data-dependent sizes
/// that depend on such a variable are computed again, from the new value.
/// Before: outputs {w * 2}, updates {w: w + 1}. After: outputs {(w + 1) * 2}, the same updates.
std::vector<ir::Value> outputs_after_updates(const ir::Graph& graph);

}  // namespace kiln::runtime
