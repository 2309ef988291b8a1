// Moves matmuls of inputs with invariants before the loop, as one batched matmul for all steps.
// REQUIRES: invariants are hoisted. Elementwise work stays in the loop, where its operands are in
// cache, except what leads from the inputs to the matmuls.
//
//   Before: %s = scan(%x): { %1 = dot %x[t] %w; .. }
//   After:  %u = dot %x %w; %s = scan(%u): { .. %u[t] .. }
#pragma once

#include "core/ir/graph.h"

namespace kiln::passes {

ir::Graph scan_batch_inputs(const ir::Graph& graph);

}  // namespace kiln::passes
