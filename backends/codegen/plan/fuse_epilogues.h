// Epilogue fusion: the library call computes bias and ReLU instead of a kernel after it.
//
// Before: matmul %2 = %0 x %1; kernel %4 = %2 + %3; kernel %5 = relu(%4)
// After:  matmul %5 = %0 x %1 + %3, relu
#pragma once

#include "backends/codegen/plan/plan.h"

namespace kiln::codegen {

/// Fuses a bias and a ReLU, which may have a bound, into the matmul or forward convolution whose
/// result nothing else reads; the step moves to the kernel's position. A step computes
/// min(relu(x + bias), bound): at most one bias, before its ReLU; reshapes between them do not
/// matter. `kernels`: of the plan's steps. `library`: is asked about each epilogue; may be null for
/// a plan without library steps.
void fuse_epilogues(Plan& plan, const BuiltKernels& kernels, const LibraryClaims* library);

}  // namespace kiln::codegen
