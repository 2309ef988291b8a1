// The least bytes and operations of steps with known sizes, for profiles.
#pragma once

#include "backends/codegen/bind/slot_sizes.h"
#include "backends/codegen/plan/step_times.h"

#include <optional>

namespace kiln::codegen {

/// Of `count` matmuls that read both operands and write the result.
StepCost matmul_cost(double count, const MatmulStep& step, double m, double n, double k);
/// The same, of all matmuls of the step.
StepCost matmul_cost(const MatmulStep& step, const EvaluateDim& evaluate);
/// Operations at the border count as those inside.
/// Bytes of the operands and results, operations of the products.
StepCost attention_cost(const AttentionStep& step, const SlotSizes& slots,
                        const EvaluateDim& evaluate);
StepCost convolution_cost(const ConvolutionStep& step, const EvaluateDim& evaluate);
/// Of a kernel with the values of Kernel::sizes. A tensor counts once, however often it is read,
/// and as far as affine accesses reach; guards count as true. `range`: of the indices along axis 0.
StepCost kernel_cost(const Kernel& kernel, const KernelStep& step,
                     std::span<const std::int64_t> sizes, const SlotSizes& slots,
                     std::optional<std::int64_t> range = {});
/// Of copies, row updates and host calls; nothing for the other steps.
StepCost other_cost(const Step& step, const SlotSizes& slots);

}  // namespace kiln::codegen
