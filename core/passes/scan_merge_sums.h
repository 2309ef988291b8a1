// Before: outputs that nothing reads are dropped. After: no sum inside a loop adds two products of
// computed values with invariants that could be one product.
//
//   before: %s, %a*, %b* = scan { %y = add (dot %a, %u) (dot %b, %v); stack %y, %a, %b }
//   after:  %w = concat %u, %v
//           %s, %p* = scan { %p = concat %a, %b; %y = dot %p, %w; stack %y, %p }
//           %a*, %b* = slices of %p*
#pragma once

#include "core/ir/graph.h"

namespace kiln::passes {

/// The gradients of gates give such sums. Where the loop stacks all of a, b, .., it stacks their
/// concatenation instead, and slices of that stack serve their readers.
ir::Graph scan_merge_sums(const ir::Graph& graph);

}  // namespace kiln::passes
