// Queues the kernels of a bound attention on a stream.
#pragma once

#include "backends/codegen/plan/plan.h"
#include "backends/cuda/device/stream.h"
#include "backends/cuda/execute/bind_attention.h"
#include "backends/cuda/execute/device_plan.h"

namespace kiln::cuda {

/// `scratch`: the address of the step's scratch memory. Throws sdk::Failure. REQUIRES: a
/// ScopedContext of the thread.
void issue_attention(const codegen::AttentionStep& step, const DeviceAttention& bound,
                     const Stream& stream, const SlotAddresses& slots,
                     const codegen::SlotSizes& sizes, api::DeviceAddress scratch);

}  // namespace kiln::cuda
