// Row-independent loops: where row i of every tensor depends on rows i alone, a thread can run all
// iterations for a group of rows, without a barrier in every iteration.
//
// Before: loop { matmul %h x %w; kernel tanh } over %h of [32, 8]
// After:  the same loop, marked: 32 independent rows, and for each step its indices per row
#pragma once

#include "backends/codegen/plan/plan.h"

namespace kiln::codegen {

/// The row division, when every tensor that the loop writes has the same leading dim and every step
/// computes row i from rows i and loop invariants; otherwise empty. `kernels`: those of the
/// program.
std::optional<IndependentRows> find_independent_rows(const LoopStep& loop,
                                                     const BuiltKernels& kernels);

}  // namespace kiln::codegen
