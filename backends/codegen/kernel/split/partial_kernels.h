// Rewrites a reduction to a kernel of partial reductions and a kernel that combines their results.
#pragma once

#include "backends/codegen/kernel/build/built_kernel.h"

namespace kiln::codegen {

struct PartialKernels {
  BuiltKernel parts, total;
  std::vector<ir::Value> tensors;  // of parts, dims [parts, outer axes...]: one per reduction
};

/// Splits an inner axis of a kernel in parts of `length` indices. `parts` has the inner stages and
/// stores the partial results; `total` reduces those and has the stages that run once per outer
/// point. REQUIRES: no inner stage needs the result of a reduction.
PartialKernels partial_kernels(const BuiltKernel& whole, int axis, std::int64_t length);

struct PartialColumnSum {
  ir::Value tensor;   // the sums of each block, dims [blocks, columns]
  BuiltKernel total;  // their sum
};
/// Makes the kernel add to sums of blocks, whose number is the index of axis 0, instead of to that
/// operand. REQUIRES: split_axis(kernel, 0, rows) came before.
PartialColumnSum partial_column_sum(BuiltKernel& kernel, int operand);
/// Makes a kernel that fills the result of a column sum fill the sums of blocks.
void fill_parts(BuiltKernel& fill, const ir::Value& tensor);

}  // namespace kiln::codegen
