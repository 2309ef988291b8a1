// Checks the rules of the library that concern the plugin.
#include "tests/backends/cuda_fakes/cudnn/problem.h"

#include <algorithm>

namespace kiln::fake_cudnn {
namespace {

using A = CudnnAttribute;

Tensor tensor_of(const Descriptor& descriptor) {
  return {.type = descriptor.one<CudnnDataType>(A::TensorType),
          .dims = descriptor.list<std::int64_t>(A::TensorDims),
          .strides = descriptor.list<std::int64_t>(A::TensorStrides),
          .id = descriptor.one<std::int64_t>(A::TensorId),
          .alignment = descriptor.one<std::int64_t>(A::TensorAlignment)};
}

/// As cuDNN 9.19 does: where the channels of the images are last in memory, those of a filter are,
/// too, whatever its strides.
Tensor filter_of(const Descriptor& descriptor, const Tensor& input) {
  Tensor filter = tensor_of(descriptor);
  if (input.strides.size() != filter.dims.size() || input.strides[1] != 1) return filter;
  std::int64_t stride = filter.dims[1];
  for (std::size_t i = filter.dims.size(); i-- > 2; stride *= filter.dims[i]) {
    filter.strides[i] = stride;
  }
  filter.strides[0] = stride;
  filter.strides[1] = 1;
  return filter;
}

struct RoleAttributes {
  DescriptorType role;
  A convolution, input, filter, output, alpha, beta;
};
constexpr RoleAttributes kRoles[] = {
    {DescriptorType::Forward, A::ForwardConvolution, A::ForwardInput, A::ForwardFilter,
     A::ForwardOutput, A::ForwardAlpha, A::ForwardBeta},
    {DescriptorType::BackwardData, A::DataConvolution, A::DataInput, A::DataFilter, A::DataOutput,
     A::DataAlpha, A::DataBeta},
    {DescriptorType::BackwardFilter, A::FilterConvolution, A::FilterInput, A::FilterFilter,
     A::FilterOutput, A::FilterAlpha, A::FilterBeta},
};

const RoleAttributes& attributes_of(DescriptorType role) {
  return *std::find_if(std::begin(kRoles), std::end(kRoles),
                       [&](const RoleAttributes& row) { return row.role == role; });
}

std::string reason_of_tensor(const Tensor& tensor, const Problem& problem) {
  const std::size_t rank = problem.strides.size() + 2;
  if (rank < 4 || rank > 5) return "convolutions have 2 or 3 spatial axes";
  if (tensor.type != problem.input.type) return "tensors of different types";
  if (tensor.dims.size() != rank || tensor.strides.size() != rank) return "another rank";
  const auto is_positive = [](std::int64_t number) { return number > 0; };
  if (!std::all_of(tensor.dims.begin(), tensor.dims.end(), is_positive)) return "an empty tensor";
  if (!std::all_of(tensor.strides.begin(), tensor.strides.end(), is_positive)) return "no stride";
  return "";
}

bool is_half(CudnnDataType type) {
  return type == CudnnDataType::Float16 || type == CudnnDataType::BFloat16;
}

std::string reason_of_types(const Problem& problem) {
  const CudnnDataType type = problem.input.type;
  const CudnnDataType wanted = is_half(type) ? CudnnDataType::Float32 : type;
  if (problem.compute_type != wanted) return "another compute type";
  const bool is_whole = problem.filter.dims[0] % 8 == 0 && problem.filter.dims[1] % 8 == 0;
  if (is_half(type) && !is_whole) return "channels of halves that are no multiple of 8";
  return "";
}

std::string reason_of_channels(const Problem& problem) {
  const auto &x = problem.input.dims, &w = problem.filter.dims, &y = problem.output.dims;
  if (x[0] != y[0]) return "two batch sizes";
  if (w[0] != y[1]) return "other filters than the output has channels";
  if (x[1] % w[1] != 0) return "channels are no multiple of those of a filter";
  if (w[0] % (x[1] / w[1]) != 0) return "filters are no multiple of the groups";
  return "";
}

std::string reason_of_axis(const Problem& problem, std::size_t i) {
  const std::int64_t span = (problem.filter.dims[i + 2] - 1) * problem.dilations[i] + 1;
  const std::int64_t padded = problem.input.dims[i + 2] + problem.low[i] + problem.high[i];
  if (problem.low[i] < 0 || problem.high[i] < 0) return "negative padding";
  // Some engines of cuDNN 9.19 use the low padding at both ends.
  if (problem.low[i] != problem.high[i]) return "asymmetric padding";
  if (padded < span) return "a filter larger than the padded input";
  if ((padded - span) / problem.strides[i] + 1 != problem.output.dims[i + 2]) {
    return "another size of the output";
  }
  return "";
}

}  // namespace

Problem problem_of(const Descriptor& operation) {
  const RoleAttributes& names = attributes_of(operation.type);
  const Descriptor& convolution = operation.at(names.convolution);
  const Tensor input = tensor_of(operation.at(names.input));
  return {.role = operation.type,
          .compute_type = convolution.one<CudnnDataType>(A::ConvolutionComputeType),
          .input = input,
          .filter = filter_of(operation.at(names.filter), input),
          .output = tensor_of(operation.at(names.output)),
          .strides = convolution.list<std::int64_t>(A::ConvolutionStrides),
          .dilations = convolution.list<std::int64_t>(A::ConvolutionDilations),
          .low = convolution.list<std::int64_t>(A::ConvolutionLow),
          .high = convolution.list<std::int64_t>(A::ConvolutionHigh)};
}

std::string reason_to_reject(const Problem& problem) {
  const std::size_t axes = problem.strides.size();
  for (const auto* list : {&problem.dilations, &problem.low, &problem.high}) {
    if (list->size() != axes) return "lists of several lengths";
  }
  for (const Tensor* tensor : {&problem.input, &problem.filter, &problem.output}) {
    const std::string reason = reason_of_tensor(*tensor, problem);
    if (!reason.empty()) return reason;
  }
  std::string reason = reason_of_channels(problem);
  if (reason.empty()) reason = reason_of_types(problem);
  if (!reason.empty()) return reason;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::string reason_here = reason_of_axis(problem, i);
    if (!reason_here.empty()) return reason_here;
  }
  return "";
}

std::span<const Engine> engines_of(HeuristicMode mode) {
  static constexpr Engine kFast[] = {
      kNondeterministic, kTensorCore, kDownConverting, kNarrowAdding, kFft,
      kWinograd,         kPicky,      kAligned};
  static constexpr Engine kFallback[] = {kNondeterministic, kGeneral};
  if (mode == HeuristicMode::A) return kFast;
  return kFallback;
}

std::span<const NumericalNote> notes_of(int engine) {
  using N = NumericalNote;
  static constexpr N kNotes[] = {N::Nondeterministic, N::TensorCore, N::DownConvertInputs,
                                 N::ReducedPrecision, N::Fft,        N::Winograd,
                                 N::StrictNan,        N::StrictNan,  N::StrictNan};
  return std::span(kNotes).subspan(static_cast<std::size_t>(engine), 1);
}

bool supports(int engine, const Problem& problem) {
  if (engine == kPicky) return problem.filter.dims[0] % 4 == 0 && problem.input.alignment >= 16;
  if (engine == kAligned) return problem.input.alignment >= 16;
  return true;
}

std::int64_t workspace_bytes(int engine, const Problem& problem) {
  const std::int64_t channels = problem.input.dims[1];
  if (channels % 3 == 0) return 0;
  return channels * (engine == kGeneral ? 60 : 100);
}

}  // namespace kiln::fake_cudnn
