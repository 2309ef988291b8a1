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

ir::Graph scan_push_outputs(const ir::Graph& graph);

}  // namespace kiln::passes
