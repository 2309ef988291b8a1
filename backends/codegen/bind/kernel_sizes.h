// Extents and strides of kernels over empty tensors, whose products may not fit in 64 bits.
#pragma once

#include "backends/codegen/bind/slot_sizes.h"
#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// Evaluates the dims of `kernel`: like `evaluate`, but a dim that cannot be evaluated is 0 where
/// an axis of the kernel has extent 0. Such a dim is an extent or a stride of a tensor without
/// elements, since all others fit in memory, and no point uses it. REQUIRES: both arguments outlive
/// the result.
EvaluateDim evaluate_for_kernel(const Kernel& kernel, const EvaluateDim& evaluate);

/// Whether the kernel writes anything: it has outer points, and inner points or stores outside of
/// inner stages.
bool writes_points(const Kernel& kernel, const EvaluateDim& evaluate);

}  // namespace kiln::codegen
