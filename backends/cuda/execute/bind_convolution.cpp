// Adds the source line to errors of the libraries.
#include "backends/cuda/execute/bind_convolution.h"

#include "backends/codegen/inspect/source.h"

namespace kiln::cuda {

DeviceConvolution bind_convolution(const codegen::ConvolutionStep& step,
                                   const ConvolutionLibrary& library,
                                   const codegen::EvaluateDim& evaluate) {
  DeviceConvolution bound;
  const auto convolution = describe(step, library.options(), evaluate);
  if (!convolution) return bound;
  try {
    bound.prepared = library.prepare(*convolution);
    bound.workspace_bytes = bound.prepared->workspace_bytes();
  } catch (const sdk::Failure& failure) {
    const std::string source = codegen::source_of(*step.node);
    throw sdk::Failure(failure.code(), failure.what() + (" (" + source + ")"))
        .native(failure.native_library, failure.native_code);
  }
  bound.zero_fills_result =
      convolution->reads_part_of_input && convolution->role == ir::ConvRole::Input;
  return bound;
}

}  // namespace kiln::cuda
