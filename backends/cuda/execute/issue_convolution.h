// Queues a bound convolution on a stream by cuDNN, after a zero fill where it needs one.
#pragma once

#include "backends/cuda/device/stream.h"
#include "backends/cuda/execute/bind_convolution.h"
#include "core/module/module.h"

namespace kiln::cuda {

/// The stream, and the base addresses of the step's slots and of its workspace.
struct ConvolutionCall {
  const Stream& stream;
  const module::Module& module;  // for the source line of an error
  api::DeviceAddress lhs = 0, rhs = 0, result = 0, workspace = 0;
  std::int64_t result_bytes = 0;
};

/// Throws sdk::Failure. REQUIRES: a ScopedContext of the thread.
void issue_convolution(const codegen::ConvolutionStep& step, const DeviceConvolution& bound,
                       const ConvolutionCall& call);

}  // namespace kiln::cuda
