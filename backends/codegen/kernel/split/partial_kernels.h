// Splits a reduction into a kernel of partial reductions and a kernel that combines their results.
#pragma once

#include "backends/codegen/kernel/build/built_kernel.h"

namespace kiln::codegen {

struct PartialKernels {
  BuiltKernel parts, total;
  std::vector<ir::Value> tensors;  // partial results of each reduction, dims [parts, outer axes...]
};

/// Splits an inner axis of a kernel into parts of `length` indices. `parts` has the inner stages
/// and stores the partial results; `total` reduces those and has the stages that run once per outer
/// point. REQUIRES: no inner stage uses the result of a reduction.
PartialKernels partial_kernels(const BuiltKernel& whole, int axis, std::int64_t length);

struct PartialColumnSum {
  ir::Value tensor;  // the sums of each block of rows, dims [blocks, columns]
  BuiltKernel total;  // adds up the blocks, in order
};
/// Redirects the column sum of an operand to the partial sums of the block of rows that the index
/// along axis 0 selects. REQUIRES: split_axis(kernel, 0, rows) has made axis 0 the blocks.
PartialColumnSum partial_column_sum(BuiltKernel& kernel, OperandId operand);
/// Makes the kernel that initialises the result of a column sum
/// initialise the partial sums instead.
void fill_parts(BuiltKernel& fill, const ir::Value& tensor);

}  // namespace kiln::codegen
