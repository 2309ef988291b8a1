// Builds cuDNN's operation graph of a convolution and an execution plan of an engine for it.
#pragma once

#include "backends/cuda/libraries/convolution_description.h"
#include "backends/cuda/libraries/engine_plan.h"

namespace kiln::cuda {

/// The descriptors of an operation graph with one convolution. `alignment`: of the address of each
/// tensor, in bytes. The constructor throws sdk::Failure. REQUIRES: `library` and device.device
/// outlive the object.
class ConvolutionGraph {
 public:
  ConvolutionGraph(const api::Cudnn& library, const ConvolutionDescription& convolution,
                   std::int64_t alignment, const PlanDevice& device);

  const BackendDescriptor& graph() const { return graph_; }

 private:
  BackendDescriptor input_, filter_, output_, convolution_, operation_, graph_;
};

/// Identifiers of the tensors in a variant pack.
inline constexpr std::int64_t kInputId = 1, kFilterId = 2, kOutputId = 3;

/// An operation graph and its plan. The constructor throws as EnginePlan. REQUIRES: as
/// ConvolutionGraph and EnginePlan.
class ConvolutionPlan {
 public:
  ConvolutionPlan(const api::Cudnn& library, const ConvolutionDescription& convolution,
                  std::int64_t alignment, const PlanDevice& device);

  api::DescriptorHandle handle() const { return engine_.handle(); }
  std::int64_t workspace_bytes() const { return engine_.workspace_bytes(); }

 private:
  ConvolutionGraph graph_;
  EnginePlan engine_;
};

}  // namespace kiln::cuda
