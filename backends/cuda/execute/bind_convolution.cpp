// Adds the source line to errors of the libraries, and memory for a transposed filter.
#include "backends/cuda/execute/bind_convolution.h"

#include "backends/codegen/inspect/source.h"

namespace kiln::cuda {
namespace {

std::int64_t elements_of(const TensorLayout& tensor) {
  std::int64_t elements = 1;
  for (const std::int64_t dim : tensor.dims) elements *= dim;
  return elements;
}

/// Plans the transposition of the filter, and its memory after cuDNN's workspace.
void add_transposition(DeviceConvolution& bound, const ConvolutionDescription& convolution,
                       const FilterTranspositions& transpositions) {
  const std::int64_t elements = elements_of(convolution.filter);
  const std::int64_t filters = convolution.filter.dims[0];
  const std::int64_t elements_per_filter = elements / filters;
  if (filters == 1 || elements_per_filter == 1) return;
  const bool is_result = convolution.role == ir::ConvRole::Filter;
  bound.transposition = is_result
                            ? transpositions.bind(convolution.dtype, filters, elements_per_filter)
                            : transpositions.bind(convolution.dtype, elements_per_filter, filters);
  bound.filter_offset = bound.workspace_bytes;
  bound.workspace_bytes +=
      elements * static_cast<std::int64_t>(dtype_bytes(convolution.dtype)) + kTensorAlignment - 1;
}

}  // namespace

DeviceConvolution bind_convolution(const codegen::ConvolutionStep& step,
                                   const ConvolutionLibrary& library,
                                   const FilterTranspositions& transpositions,
                                   const codegen::EvaluateDim& evaluate) {
  DeviceConvolution bound;
  const auto convolution = describe(step, library.options(), evaluate);
  if (!convolution) return bound;
  try {
    bound.prepared = library.prepare(*convolution);
    bound.workspace_bytes = bound.prepared->workspace_bytes();
    add_transposition(bound, *convolution, transpositions);
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
