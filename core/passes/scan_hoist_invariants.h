// Loop-invariant code motion. Afterwards every value in a loop's body depends on the step, except
// leaves, broadcasts, and pinned nodes (core/ops/pinned.h) of a loop that may have no steps; a
// carry that never changes is a const. Nodes that read state (random draws, host calls) are never
// hoisted.
//
//   Before: scan(c0 = %w, %x): c -> (c, tanh(c) * x[t])
//   After:  %u = tanh %w; scan(%u, %x): -> (u * x[t])
#pragma once

#include "core/ir/graph.h"

namespace kiln::passes {

ir::Graph scan_hoist_invariants(const ir::Graph& graph);

}  // namespace kiln::passes
