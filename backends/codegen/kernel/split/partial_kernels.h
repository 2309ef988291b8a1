// Rewrites kernels of reductions to kernels of parts, and makes the kernels that combine them.
#pragma once

#include "backends/codegen/kernel/build/built_kernel.h"

namespace kiln::codegen {

struct PartialKernels {
  BuiltKernel parts, total;
  std::vector<ir::Value> tensors;  // of parts, dims [parts, outer axes...]: one per reduction
};

/// Splits the inner axis of a kernel in parts of `length` indices. `parts` does the work of all
/// inner stages and stores what each part reduces to; `total` combines that and does the work of
/// the stages that run once. REQUIRES: no inner stage needs the result of a reduction.
PartialKernels partial_kernels(const BuiltKernel& whole, int axis, std::int64_t length);

/// Operands that the kernel adds to from every index of axis 0.
std::vector<int> column_sums(const Kernel& kernel);

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
