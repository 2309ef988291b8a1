// Before: any graph. After: no value inside a loop's body is independent of the step, except
// leaves, broadcasts, and pinned nodes (core/ops/pinned.h) of a loop that may have no steps; a
// carry that never changes is a const.
//
//   scan(c0 = w, x): c -> (c, tanh(c) * x)   becomes   let u = tanh(w) in scan(x): (u * x)
//
// Nodes that read state (random draws, host calls) are never hoisted.
#pragma once

#include "core/ir/graph.h"

namespace kiln::passes {

ir::Graph scan_hoist_invariants(const ir::Graph& graph);

}  // namespace kiln::passes
