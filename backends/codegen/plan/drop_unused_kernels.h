// Dead kernel elimination after epilogue fusion.
//
// Before: kernels 0, 1, 2; steps: kernel 2, matmul, kernel 0
// After:  kernels 0, 1; steps: kernel 0, matmul, kernel 1
#pragma once

#include "backends/codegen/plan/plan.h"

#include <span>

namespace kiln::codegen {

/// Drops the kernels that no step of `plans` runs, and renumbers the others in the steps' order.
/// Returns the new id of each old one; none: dropped.
IdVector<KernelId, KernelId> drop_unused_kernels(std::span<Plan* const> plans,
                                                 BuiltKernels& kernels);

}  // namespace kiln::codegen
