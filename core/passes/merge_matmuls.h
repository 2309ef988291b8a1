// Merges matmuls of adjacent slices (with static bounds) of one tensor: those that share the other
// operand, and those that one sum adds, unless the slices have fewer than 16 rows. If both operands
// of a matmul are slices, only the first suitable one is considered. Afterwards none is left.
//
//   Before: %0 = dot %x %s[:, 0:4]; %1 = dot %x %s[:, 4:8]    %2 = add (dot %s[:, 0:4] %u) (dot ..)
//   After:  %p = dot %x %s; %0 = %p[:, 0:4]; %1 = %p[:, 4:8]  %2 = dot %s (concat %u %v)
#pragma once

#include "core/ir/graph.h"

namespace kiln::passes {

/// Includes lambdas. After scan_merge_sums the gradients of a cell's gates are such slices: one
/// matmul computes all their weight gradients, and one the gradient of the loop's input.
ir::Graph merge_matmuls(const ir::Graph& graph);

}  // namespace kiln::passes
