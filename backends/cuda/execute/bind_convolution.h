// Binds a convolution step to the sizes of a call: describes and plans cuDNN's operation.
#pragma once

#include "backends/codegen/plan/step_times.h"
#include "backends/cuda/libraries/cudnn.h"

namespace kiln::cuda {

/// A convolution step with the sizes of a call.
struct DeviceConvolution {
  /// Null: the result is zero or has no elements.
  std::shared_ptr<const PreparedConvolution> prepared;
  bool zero_fills_result = false;  // cuDNN writes a part of the result; the rest is zero
  std::int64_t workspace = 0;  // offset in the arena
  std::int64_t workspace_bytes = 0;
  codegen::StepCost cost = {};
};

/// An upper bound on the operations that issue_convolution() queues.
inline std::int64_t operations_of(const DeviceConvolution& bound) {
  return bound.zero_fills_result ? 2 : 1;
}

/// Evaluates the sizes and plans the convolution. Throws sdk::Failure, of UNIMPLEMENTED where the
/// library has no engine, with the source line, and what `evaluate` throws. REQUIRES: a
/// ScopedContext of the thread, which captures no stream.
DeviceConvolution bind_convolution(const codegen::ConvolutionStep& step,
                                   const CudnnLibrary& library,
                                   const codegen::EvaluateDim& evaluate);

}  // namespace kiln::cuda
