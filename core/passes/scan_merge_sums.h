// Merges matmuls of a loop whose results are added, as gradients of gates are: one matmul of
// concatenated operands. Afterwards no sum in a loop adds two matmuls of computed values with
// invariants that could be one. REQUIRES: outputs that are not read are dropped.
//
//   Before: %s, %a*, %b* = scan { %y = add (dot %a, %u) (dot %b, %v); stack %y, %a, %b }
//   After:  %w = concat %u, %v
//           %s, %p* = scan { %p = concat %a, %b; %y = dot %p, %w; stack %y, %p }; %a* = %p*[.., a]
#pragma once

#include "core/ir/graph.h"

namespace kiln::passes {

/// If the loop stacks all of a, b, .., it stacks their concatenation instead, and users of the
/// stacks read slices of it.
ir::Graph scan_merge_sums(const ir::Graph& graph);

}  // namespace kiln::passes
