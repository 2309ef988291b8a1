// Before: outputs that nothing reads are dropped. After: no sum inside a loop adds two products of
// computed values with invariants that could be one product.
//
//   scan: (dot(a, u) + dot(b, v); a, b)   becomes
//   let w = concat(u, v) in scan: let p = concat(a, b) in (dot(p, w); p)
#pragma once

#include "core/ir/graph.h"

namespace kiln::passes {

/// The gradients of gates give such sums. Where the loop stacks all of a, b, .., it stacks their
/// concatenation instead, and slices of that stack serve their readers.
ir::Graph scan_merge_sums(const ir::Graph& graph);

}  // namespace kiln::passes
