// Kernels that reduce each row, or column, by every combiner, and their calls.
#pragma once

#include "tests/backends/codegen/make_kernel.h"

namespace kiln::test {

Memory zeros(DType dtype, std::int64_t count);

/// One result of every combiner for each row, or column, of x; bools have no sum and no product.
codegen::Kernel every_combiner(DType dtype, std::int64_t outer, const ir::Dim& inner,
                               bool is_columns);

/// A call of every_combiner() on `x`. REQUIRES: static sizes.
KernelCall call_of_combiners(const codegen::Kernel& kernel, Memory x, std::int64_t outer);

}  // namespace kiln::test
