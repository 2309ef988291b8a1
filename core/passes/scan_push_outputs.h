// Moves sums and outputs after the loop. A carry that only accumulates matmuls or reductions of
// each step becomes one matmul or reduction over all steps; so does an output that no later step
// reads and that depends on a matmul. Weight gradients thus are one matmul. Sums are reassociated;
// those of float16 and bfloat16 are added in float32 and rounded once.
//
//   Before: %s = scan(c0): { c + dot(a[t], b[t]) }
//   After:  %a, %b = scan: { stack a, b }; %s = add %c0 (dot %a %b), contracted over steps, too
#pragma once

#include "core/ir/graph.h"

namespace kiln::passes {

/// The loop then stacks a and b over its steps, unless they are among its inputs. Only as much is
/// pushed as a StackingBudget allows. A sum of draws, for example, stays in its loop:
///
///   scan, 12000 steps: c + sum(cum_sum(draw[65536]))     would need 3 GB with the draws stacked
///
/// The gradient of a weight is pushed: its operands have about as many bytes as the residuals that
/// the loop reads anyway.
ir::Graph scan_push_outputs(const ir::Graph& graph);

}  // namespace kiln::passes
