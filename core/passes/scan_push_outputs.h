// Before: any graph. After: a carry that only adds up products or reductions of each step is one
// product or reduction over all steps after the loop, and so is an output that no later step reads
// and that a product leads to. Weight gradients are then one product.
//
//   scan: (c + dot(a[t], b[t]))   becomes   scan: ys a, b; then c0 + dot(a, b) over steps and rows
//
// The sum over the steps is taken in another order than in the loop.
#pragma once

#include "core/ir/graph.h"

namespace kiln::passes {

/// The loop then stacks a and b over its steps, unless they are among its inputs. Pushed is only
/// as much as keeps to a StackingBudget (stacking_budget.h). A sum of draws stays in its loop:
///
///   scan, 12000 steps: (c + sum(cum_sum(draw[65536])))   needs 3 GB with the sums stacked
///
/// The gradient of a weight is pushed: its operands have about the bytes of the residuals that the
/// loop reads anyway.
ir::Graph scan_push_outputs(const ir::Graph& graph);

}  // namespace kiln::passes
