// The opening of a plan: its first steps, equal kernels of arguments and constants, which one
// launch may run.
//
// Before: %4 = kernel cast %0; %5 = matmul %4; %6 = kernel cast %1; %7 = matmul %5 %6
// After:  opening { %4 = kernel cast %0; %6 = kernel cast %1 }; %5 = matmul %4; %7 = matmul %5 %6
#pragma once

#include "backends/codegen/plan/plan.h"

namespace kiln::codegen {

/// Kernels with equal keys may be one launch: the key of the kernel with a variable extent
/// (kernel/variable_extent.h), or of the kernel itself where that has none.
std::string batch_key(const Kernel& kernel);

/// Moves kernels to the front that read arguments and constants alone, cannot fail, write
/// temporaries and have the batch_key of another such step: typically the casts of weights to
/// 16-bit floats. Their results live longer by that.
void gather_equal_kernels(Plan& plan, const BuiltKernels& kernels);

}  // namespace kiln::codegen
