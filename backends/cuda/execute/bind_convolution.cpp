// Describes the convolution for the sizes of a call.
#include "backends/cuda/execute/bind_convolution.h"

#include "backends/cuda/execute/source_errors.h"

namespace kiln::cuda {

DeviceConvolution bind_convolution(const codegen::ConvolutionStep& step,
                                   const CudnnLibrary& library,
                                   const codegen::EvaluateDim& evaluate) {
  DeviceConvolution bound;
  const auto convolution = describe(step, library.options(), evaluate);
  if (!convolution) return bound;
  bound.prepared = with_source(*step.node, [&] { return library.prepare(*convolution); });
  bound.workspace_bytes = bound.prepared->workspace_bytes();
  bound.zero_fills_result =
      convolution->reads_part_of_input && convolution->role == ir::ConvRole::Input;
  return bound;
}

}  // namespace kiln::cuda
