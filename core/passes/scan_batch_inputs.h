// Before: invariants are outside of loops. After: no product of inputs with invariants is left
// inside a loop.
//
//   scan(x): dot(x[t], w) + ..   becomes   let u = dot(x, w) in scan(u): u[t] + ..
//
// Only products move (with what leads from the inputs to them): elementwise work stays where its
// operands are in cache.
#pragma once

#include "core/ir/graph.h"

namespace kiln::passes {

ir::Graph scan_batch_inputs(const ir::Graph& graph);

}  // namespace kiln::passes
