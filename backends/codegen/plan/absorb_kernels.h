// Epilogue fusion: bias and ReLU are computed by the library call instead of a kernel after it.
#pragma once

#include "backends/codegen/plan/plan.h"

namespace kiln::codegen {

/// Fuses a bias and relu into the matmul or convolution whose result nothing else reads; the step
/// takes the kernel's place. A step computes relu(x + bias): it takes one bias, before its relu,
/// through reshapes too. `kernels`: those of the plan's steps;
/// `library`: asked about each epilogue, may be null for a plan without library steps.
/// Before: product %2 = %0 x %1; kernel %4 = %2 + %3; kernel %5 = relu(%4).
/// After: product %5 = %0 x %1 + %3, relu.
void absorb_kernels(Plan& plan, const std::vector<BuiltKernel>& kernels,
                    const LibraryClaims* library);

}  // namespace kiln::codegen
