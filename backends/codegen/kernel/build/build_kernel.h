// Lowers fusion groups to the loop-level IR: axes are those of the group, reduced ones inner; no
// vector axis is chosen.
//
// Before: group { %1 = tanh %0; %2 = sum %1 axes=[1] }
// After:  axes [4] | [8]; reduce sum tanh(load b0[i0, i1]); store b1[i0] = sum
#pragma once

#include "backends/codegen/fusion/fusion_plan.h"
#include "backends/codegen/kernel/build/built_kernel.h"

namespace kiln::codegen {

/// For each fusion group, its kernels in execution order.
using KernelsOfGroups = std::vector<std::vector<KernelId>>;

/// Lowers one group. `number` makes the name of the kernel unique.
BuiltKernel build_kernel(const KernelGroup& group, const FusionPlan& fusion_plan,
                         const SizeNames& names, int number);

/// Lowers all groups and appends their kernels to `kernels`. A group has one kernel; none if it is
/// not a kernel group or all its values are rematerialised in their consumers.
KernelsOfGroups build_kernels(const FusionPlan& fusion_plan, const SizeNames& names,
                              BuiltKernels& kernels);

}  // namespace kiln::codegen
