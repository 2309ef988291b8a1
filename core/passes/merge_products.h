// Before: any graph. After: no two products with the same other operand read adjacent slices of one
// tensor, and no sum adds two products of such slices. A product with a slice on both sides is
// looked at from its first one alone. Bounds of slices are static; sums of products with fewer
// than 16 rows stay, since the concatenation costs more than it saves.
//
//   dot(x, s[:, 0:4]), dot(x, s[:, 4:8])    becomes   let p = dot(x, s) in p[:, 0:4], p[:, 4:8]
//   dot(s[:, 0:4], u) + dot(s[:, 4:8], v)   becomes   dot(s, concat(u, v))
#pragma once

#include "core/ir/graph.h"

namespace kiln::passes {

/// Lambdas are included. Gradients of the gates of a loop are such slices (scan_merge_sums): their
/// weight gradients are one product, and so is the gradient of the loop's input.
ir::Graph merge_products(const ir::Graph& graph);

}  // namespace kiln::passes
