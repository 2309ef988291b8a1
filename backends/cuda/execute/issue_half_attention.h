// Queues a bound attention of float16 or bfloat16.
#pragma once

#include "backends/cuda/device/stream.h"
#include "backends/cuda/execute/bind_half_attention.h"
#include "backends/cuda/execute/device_plan.h"

namespace kiln::cuda {

struct HalfAttentionCall {
  const Stream& stream;
  const module::Module& module;  // for the source line of an error
  const SlotAddresses& slots;
  const codegen::SlotSizes& sizes;
  api::DeviceAddress scratch = 0;  // of the step
};

/// Throws sdk::Failure, of UNIMPLEMENTED for addresses that the library has no engine for, with the
/// source line. REQUIRES: a ScopedContext of the thread.
void issue_half_attention(const codegen::AttentionStep& step, const DeviceHalfAttention& bound,
                          const HalfAttentionCall& call);

}  // namespace kiln::cuda
