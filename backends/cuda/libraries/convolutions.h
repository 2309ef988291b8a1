// Convolutions of given sizes and strides, planned and queued by cuDNN.
#pragma once

#include "backends/cuda/libraries/convolution_plan.h"
#include "backends/cuda/libraries/cudnn_context.h"

namespace kiln::cuda {

/// Addresses of the three tensors in device memory, and of a workspace of workspace_bytes().
struct ConvolutionAddresses {
  api::DeviceAddress input = 0, filter = 0, output = 0, workspace = 0;
};

/// Thread-safe.
class PreparedConvolution {
 public:
  /// REQUIRES: a ScopedContext of the thread, which holds context.mutex and captures no stream;
  /// `context` outlives the object. Throws sdk::Failure.
  PreparedConvolution(const CudnnContext& context, const ConvolutionDescription& convolution);

  /// 0: no workspace is needed.
  std::int64_t workspace_bytes() const { return plans_.workspace_bytes(); }
  /// Queues the convolution. The workspace needs no alignment. Throws sdk::Failure, UNIMPLEMENTED
  /// for addresses that the library has no engine for. REQUIRES: a ScopedContext of the thread.
  void issue(const ConvolutionAddresses& addresses, const Stream& stream) const;

 private:
  const CudnnContext& context_;
  std::string title_;
  PlansByAlignment<ConvolutionPlan> plans_;
};

}  // namespace kiln::cuda
