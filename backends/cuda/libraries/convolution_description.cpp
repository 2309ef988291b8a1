// cuDNN derives the output's size from input and padding. Where more windows fit than the output
// has elements, the input is described by smaller dims with the strides of the complete tensor.
#include "backends/cuda/libraries/convolution_description.h"

#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace kiln::cuda {
namespace {

using namespace codegen;
using Ints = std::vector<std::int64_t>;

std::string joined(const Ints& dims) {
  std::string out;
  for (const std::int64_t dim : dims) out += text(out.empty() ? "" : "x", dim);
  return out;
}

bool is_empty(const Ints& dims) { return std::find(dims.begin(), dims.end(), 0) != dims.end(); }

/// The layout of a tensor that is [batch, spatial.., channels] in memory.
TensorLayout channels_last(const Ints& dims) {
  TensorLayout layout{{dims.front(), dims.back()}, {1, 1}};
  layout.dims.insert(layout.dims.end(), dims.begin() + 1, dims.end() - 1);
  layout.strides.resize(dims.size());
  std::int64_t stride = dims.back();
  for (std::size_t i = dims.size(); i-- > 2; stride *= layout.dims[i]) layout.strides[i] = stride;
  layout.strides[0] = stride;
  return layout;
}

/// The layout KRSC, [filters, spatial.., channels of a group], of a filter with the node's dims
/// [spatial.., channels of a group, filters].
TensorLayout filters_first(const Ints& dims) {
  Ints in_memory{dims.back()};
  in_memory.insert(in_memory.end(), dims.begin(), dims.end() - 1);
  return channels_last(in_memory);
}

/// Adds a spatial axis of size 1 before the others.
void add_axis(TensorLayout& layout) {
  const std::int64_t stride = layout.dims[2] * layout.strides[2];
  layout.dims.insert(layout.dims.begin() + 2, 1);
  layout.strides.insert(layout.strides.begin() + 2, stride);
}

/// The sizes of one spatial axis. `window`: of the filter; `count`: of the output.
struct Axis {
  std::int64_t size, window, count, stride, dilation, padding;

  std::int64_t span() const { return (window - 1) * dilation + 1; }
  /// The number of input elements up to the last one that a window reads.
  std::int64_t read_size() const { return (count - 1) * stride + span() - padding; }
  /// The output's size that cuDNN derives; 0: no window fits.
  std::int64_t derived() const {
    const std::int64_t slack = size + 2 * padding - span();
    return slack < 0 ? 0 : slack / stride + 1;
  }
};

/// Sets padding and size of the input on one axis. False: windows read only padding.
bool fit_axis(Axis axis, std::size_t i, ConvolutionDescription& out) {
  if (axis.read_size() <= 0) return false;
  if (axis.derived() != axis.count) {
    if (axis.padding != 0 || axis.read_size() > axis.size) {
      throw InternalError("bind", "", "cuDNN would derive another output of a convolution");
    }
    axis.size = axis.read_size();
    out.reads_part_of_input = true;
  }
  out.input.dims[i + 2] = axis.size;
  out.padding.push_back(axis.padding);
  return true;
}

}  // namespace

std::string text_of(const ConvolutionDescription& convolution) {
  static constexpr const char* kRoles[] = {"backward data", "backward weights", "forward"};
  return text(kRoles[static_cast<std::size_t>(convolution.role)], " ", convolution.dtype,
              ", input ", joined(convolution.input.dims), ", filter ",
              joined(convolution.filter.dims), ", output ", joined(convolution.output.dims));
}

std::optional<ConvolutionDescription> describe(const ConvolutionStep& step,
                                               const EngineOptions& options,
                                               const EvaluateDim& evaluate) {
  const ir::Node& node = *step.node;
  const auto& attrs = node.as<ir::ConvAttrs>();
  Ints tensors[3];  // by role
  std::size_t next = 0;
  for (std::size_t role = 0; role < 3; ++role) {
    const bool is_result = static_cast<ir::ConvRole>(role) == attrs.role;
    const ir::Dims& dims = is_result ? node.types[0].dims : node.operands[next++].dims();
    tensors[role] = evaluate_dims(dims, evaluate);
    if (is_empty(tensors[role])) return std::nullopt;
  }
  ConvolutionDescription out{.dtype = step.dtype,
                             .role = attrs.role,
                             .tf32 = options.tf32 && step.dtype == DType::Float32,
                             .deterministic = options.deterministic,
                             .input = channels_last(tensors[0]),
                             .filter = filters_first(tensors[1]),
                             .output = channels_last(tensors[2]),
                             .strides = attrs.strides,
                             .dilations = attrs.dilations,
                             .padding = {}};
  for (std::size_t i = 0; i < attrs.strides.size(); ++i) {
    const Axis axis{.size = out.input.dims[i + 2],
                    .window = out.filter.dims[i + 2],
                    .count = out.output.dims[i + 2],
                    .stride = attrs.strides[i],
                    .dilation = attrs.dilations[i],
                    .padding = evaluate(attrs.low[i])};
    if (evaluate(attrs.high[i]) != axis.padding) {
      throw InternalError("bind", "", "a convolution of cuDNN has asymmetric padding");
    }
    if (!fit_axis(axis, i, out)) return std::nullopt;
  }
  if (attrs.strides.size() > 1) return out;
  for (TensorLayout* layout : {&out.input, &out.filter, &out.output}) add_axis(*layout);
  for (Ints* list : {&out.strides, &out.dilations}) list->insert(list->begin(), 1);
  out.padding.insert(out.padding.begin(), 0);
  return out;
}

}  // namespace kiln::cuda
