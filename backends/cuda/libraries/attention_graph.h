// Builds cuDNN's operation graph of an attention or of its gradient, in which the library finds one
// of its kernels for attention.
#pragma once

#include "backends/cuda/libraries/attention_description.h"
#include "backends/cuda/libraries/engine_plan.h"

#include <deque>

namespace kiln::cuda {

/// Identifiers of the tensors in a variant pack. QuerySums are the sums of o do of each query, in
/// memory of the caller. The last three are numbers: the scale, a score that is not seen (-inf), 1.
enum class AttentionTensor : std::int64_t {
  Q = 1,
  K,
  V,
  O,
  LogSum,
  DResult,
  Dq,
  Dk,
  Dv,
  QuerySums,
  Scale,
  Unseen,
  One,
};

/// The graph has one of the forms that the library knows. Forward: scores, scale, maybe the causal
/// mask, softmax with its logarithm of the sum, values. Backward: with probabilities by the
/// logarithm of the sum; dq is a plain matmul of a matrix of halves in the workspace, since the
/// form without that matrix adds dq by atomics, in any order.
///
/// `alignment`: of the address of each tensor, in bytes, at least that of its dtype. The
/// constructor throws sdk::Failure. REQUIRES: `library` and device.device outlive the object.
class AttentionGraph {
 public:
  AttentionGraph(const api::Cudnn& library, const AttentionDescription& attention,
                 std::int64_t alignment, const PlanDevice& device);

  const BackendDescriptor& graph() const { return parts_.back(); }

 private:
  std::deque<BackendDescriptor> parts_;  // the graph last
};

/// An operation graph and its plan. The constructor throws as EnginePlan. REQUIRES: as
/// AttentionGraph and EnginePlan.
class AttentionPlan {
 public:
  AttentionPlan(const api::Cudnn& library, const AttentionDescription& attention,
                std::int64_t alignment, const PlanDevice& device);

  api::DescriptorHandle handle() const { return engine_.handle(); }
  std::int64_t workspace_bytes() const { return engine_.workspace_bytes(); }

 private:
  AttentionGraph graph_;
  EnginePlan engine_;
};

}  // namespace kiln::cuda
