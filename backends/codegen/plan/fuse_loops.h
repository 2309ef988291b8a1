// Loops that a GPU runs as one kernel: a block runs all iterations for a group of rows, with the
// carries and the temporaries of its rows in shared memory. Blocks exchange nothing.
//
// Before: loop (%h) = (%h0, %x)  # 200 steps, 32 independent rows: 400 launches of two kernels
// After:  the same loop, marked: one kernel
#pragma once

#include "backends/codegen/plan/plan.h"

namespace kiln::codegen {

/// Upper bound on the points of a step per row, two for each thread of a block: with more, launches
/// over the whole device are faster than one block.
constexpr std::int64_t kMaxRowPoints = 2048;

/// Admits loops with a fixed number of iterations whose steps are kernels and copies that cannot
/// throw, each with at most kMaxRowPoints points per row. Rows are those of
/// LoopStep::independent_rows, where sizes per row are static; else the whole loop is one row.
/// `shared_bytes`: of a block; a row's temporaries and two buffers of each carry fit it. Carries in
/// stacks have none: each iteration writes a slice of the stack anyway.
LoopFusion decide_fusion(const LoopStep& loop, const BuiltKernels& kernels,
                         std::int64_t shared_bytes);

/// Elements per row of a tensor of the loop's body; of one without the leading dim `rows`: all.
/// Empty: not static.
std::optional<std::int64_t> row_elements(const Slot& slot, const ir::Dim& rows);
/// Whether blocks divide axis 0 of the tensor.
bool has_rows(const Slot& slot, const ir::Dim& rows);

}  // namespace kiln::codegen
