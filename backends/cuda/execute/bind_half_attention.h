// Binds an attention step of float16 or bfloat16 to the sizes of a call: cuDNN's operations and
// their scratch memory.
#pragma once

#include "backends/codegen/plan/step_times.h"
#include "backends/cuda/libraries/cudnn.h"

namespace kiln::cuda {

/// Matrices of the batch that cuDNN computes at once.
struct AttentionPart {
  std::shared_ptr<const PreparedAttention> prepared;
  std::int64_t first = 0;  // matrix
};

/// An attention step with the sizes of a call.
struct DeviceHalfAttention {
  std::vector<AttentionPart> parts = {};  // none: the results are empty, or zeros
  std::int64_t scratch = 0;  // offset in the arena
  std::int64_t scratch_bytes = 0;
  std::int64_t query_sums = 0, log_sums = 0, workspace = 0;  // offsets in the scratch memory
  codegen::StepCost cost = {};
};

/// An estimate of the operations that issue_half_attention() queues.
std::int64_t operations_of(const DeviceHalfAttention& bound);

/// Evaluates the sizes and plans the attention. Throws codegen::SizeFailure for scratch memory of
/// more than 2^63 - 1 bytes, sdk::Failure, of UNIMPLEMENTED where the library has no engine, with
/// the source line, and what `evaluate` throws. REQUIRES: a ScopedContext of the thread, which
/// captures no stream.
DeviceHalfAttention bind_half_attention(const codegen::AttentionStep& step,
                                        const CudnnLibrary& library,
                                        const codegen::EvaluateDim& evaluate);

}  // namespace kiln::cuda
