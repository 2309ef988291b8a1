// Binds an attention step to the sizes of a call: the grid and the scratch memory of its kernels.
#pragma once

#include "backends/codegen/bind/attention_shape.h"
#include "backends/codegen/plan/step_times.h"
#include "backends/cuda/execute/attention_kernels.h"

namespace kiln::cuda {

/// A function of an attention's text with the number of its units of work.
struct AttentionLaunch {
  const LoadedAttentionFunction* loaded = nullptr;
  std::int64_t units = 0;
};

/// An attention step with the sizes of a call.
struct DeviceAttention {
  AttentionArguments::Sizes sizes = {};
  std::vector<AttentionLaunch> launches = {};  // none: the results are empty, or zeros
  std::int64_t scratch = 0;  // offset in the arena
  std::int64_t scratch_bytes = 0;
  std::int64_t group_dq = 0, finite = 0;  // offsets in the scratch memory
  codegen::StepCost cost = {};
};

/// An estimate of the number of operations that issue_attention() queues.
std::int64_t operations_of(const DeviceAttention& bound);

/// Compiles the kernels if they are not loaded. Throws codegen::SizeFailure for scratch memory of
/// more than 2^63 - 1 bytes, sdk::Failure, and what `evaluate` throws. REQUIRES: a ScopedContext of
/// the thread, which captures no stream.
DeviceAttention bind_attention(const codegen::AttentionStep& step, const AttentionKernels& kernels,
                               const codegen::EvaluateDim& evaluate);

}  // namespace kiln::cuda
