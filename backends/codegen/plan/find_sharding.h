// Loops whose rows are independent: a group of rows can run the whole loop on a thread of its own,
// without a barrier in every iteration.
//
// Before: loop { product %h x %w; kernel tanh } over %h of [32, 8]
// After:  the same, rows 32, indices to a row of each step
#pragma once

#include "backends/codegen/plan/plan.h"

namespace kiln::codegen {

/// Returns the row division when every tensor that the loop writes has the same leading dim and
/// every step computes row i from rows i alone (and from loop invariants); nullopt otherwise.
std::optional<Sharding> find_sharding(const LoopStep& loop,
                                      const std::vector<BuiltKernel>& kernels);

}  // namespace kiln::codegen
