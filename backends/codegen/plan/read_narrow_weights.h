// Matmuls that read a weight of 16-bit floats themselves, in place of its float32 copy: the copy is
// neither stored nor packed, and the library may read half the bytes.
//
// Before: kernel %2 = float32(%1); matmul %3 = %0 x %2      (%1 is a variable of bfloat16)
// After:  matmul %3 = %0 x float32(%1)
#pragma once

#include "backends/codegen/plan/plan.h"

namespace kiln::codegen {

/// Changes the rhs of matmuls without batch axes, where `library` takes it. Widening is exact, so
/// that sums have the same terms. Kernels that only widened such weights are dropped. `unchanged`:
/// of each argument, whether it is a variable that the program does not update, so that executors
/// keep its packed form; empty: none is. `library`: may be null for a plan without library steps.
/// Returns whether a step changed.
bool read_narrow_weights(Plan& plan, const BuiltKernels& kernels,
                         const std::vector<bool>& unchanged, const LibraryClaims* library);

}  // namespace kiln::codegen
