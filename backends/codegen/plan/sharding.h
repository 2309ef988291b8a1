// Loops whose steps work on rows that have nothing to do with each other: each group of rows can
// run the whole loop by itself, on a thread of its own, without waiting at every step.
#pragma once

#include "backends/codegen/plan/plan.h"

namespace kiln::codegen {

/// Fills `sharding` when every tensor that the loop writes has the same leading dim, and every step
/// computes a row from rows of the same number (and from what the loop only reads).
std::optional<Sharding> find_sharding(const LoopStep& loop,
                                      const std::vector<BuiltKernel>& kernels);

}  // namespace kiln::codegen
