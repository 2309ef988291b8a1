// Plans and queues attention of float16 and bfloat16 of given sizes by cuDNN.
#pragma once

#include "backends/cuda/libraries/attention_graph.h"
#include "backends/cuda/libraries/cudnn_context.h"

namespace kiln::cuda {

/// Addresses in device memory: of operands and results, of query_sums (matrices * t floats) and of
/// a workspace of workspace_bytes().
struct AttentionOperands {
  api::DeviceAddress q = 0, k = 0, v = 0, o = 0, log_sum = 0;
  api::DeviceAddress d_result = 0, dq = 0, dk = 0, dv = 0, query_sums = 0;  // of a gradient
  api::DeviceAddress workspace = 0;
};

/// Thread-safe.
class PreparedAttention {
 public:
  /// REQUIRES: a ScopedContext of the thread, which holds context.mutex and captures no stream;
  /// `context` outlives the object. Throws sdk::Failure.
  PreparedAttention(const CudnnContext& context, const AttentionDescription& attention);

  const AttentionDescription& description() const { return attention_; }
  /// 0: no workspace is needed.
  std::int64_t workspace_bytes() const { return plans_.workspace_bytes(); }
  /// Queues the attention. The workspace needs no alignment, query_sums that of a float. Throws
  /// sdk::Failure, UNIMPLEMENTED for addresses that the library has no engine for. REQUIRES: a
  /// ScopedContext of the thread.
  void issue(const AttentionOperands& operands, const Stream& stream) const;

 private:
  const CudnnContext& context_;
  AttentionDescription attention_;
  std::string title_;
  PlansByAlignment<AttentionPlan> plans_;
};

}  // namespace kiln::cuda
