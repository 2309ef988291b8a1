// Before: any graph. After: no value inside a loop's body is independent of the step, except leaves
// and broadcasts; a carry that never changes is a const.
//
//   scan(c0 = w, x): c -> (c, tanh(c) * x)   becomes   let u = tanh(w) in scan(x): (u * x)
//
// Random draws and host calls take the step's position, so they depend on the step. A node that may
// fail (core/ops/pinned.h) stays inside unless the loop has at least one step in every call.
#pragma once

#include "core/ir/graph.h"

namespace kiln::passes {

ir::Graph scan_hoist_invariants(const ir::Graph& graph);

}  // namespace kiln::passes
