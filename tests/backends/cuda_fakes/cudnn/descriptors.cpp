// The attributes as one table.
#include "tests/backends/cuda_fakes/cudnn/descriptors.h"

#include <algorithm>

namespace kiln::fake_cudnn {
namespace {

using A = CudnnAttribute;
using D = DescriptorType;
using T = CudnnAttributeType;

constexpr Attribute kAttributes[] = {
    {D::Tensor, A::TensorType, T::DataType, 1, {}},
    {D::Tensor, A::TensorDims, T::Int64, 8, {}},
    {D::Tensor, A::TensorStrides, T::Int64, 8, {}},
    {D::Tensor, A::TensorId, T::Int64, 1, {}},
    {D::Tensor, A::TensorAlignment, T::Int64, 1, {}},
    {D::Tensor, A::TensorIsVirtual, T::Boolean, 1, {}, true},
    {D::Tensor, A::TensorIsByValue, T::Boolean, 1, {}, true},
    {D::MatmulWork, A::MatmulComputeType, T::DataType, 1, {}},
    {D::Matmul, A::MatmulWorkOf, T::Descriptor, 1, D::MatmulWork},
    {D::Matmul, A::MatmulLhs, T::Descriptor, 1, D::Tensor},
    {D::Matmul, A::MatmulRhs, T::Descriptor, 1, D::Tensor},
    {D::Matmul, A::MatmulOutput, T::Descriptor, 1, D::Tensor},
    {D::PointwiseWork, A::PointwiseModeOf, T::PointwiseMode, 1, {}},
    {D::PointwiseWork, A::PointwiseComputeType, T::DataType, 1, {}},
    {D::PointwiseWork, A::PointwiseAxis, T::Int64, 1, {}, true},
    {D::Pointwise, A::PointwiseWorkOf, T::Descriptor, 1, D::PointwiseWork},
    {D::Pointwise, A::PointwiseInput, T::Descriptor, 1, D::Tensor},
    {D::Pointwise, A::PointwiseSecond, T::Descriptor, 1, D::Tensor, true},
    {D::Pointwise, A::PointwiseCondition, T::Descriptor, 1, D::Tensor, true},
    {D::Pointwise, A::PointwiseOutput, T::Descriptor, 1, D::Tensor},
    {D::ReductionWork, A::ReductionOf, T::Reduction, 1, {}},
    {D::ReductionWork, A::ReductionComputeType, T::DataType, 1, {}},
    {D::Reduction, A::ReductionWorkOf, T::Descriptor, 1, D::ReductionWork},
    {D::Reduction, A::ReductionInput, T::Descriptor, 1, D::Tensor},
    {D::Reduction, A::ReductionOutput, T::Descriptor, 1, D::Tensor},
    {D::Reshape, A::ReshapeInput, T::Descriptor, 1, D::Tensor},
    {D::Reshape, A::ReshapeOutput, T::Descriptor, 1, D::Tensor},
    {D::Convolution, A::ConvolutionComputeType, T::DataType, 1, {}},
    {D::Convolution, A::ConvolutionModeOf, T::ConvolutionMode, 1, {}},
    {D::Convolution, A::ConvolutionAxes, T::Int64, 1, {}},
    {D::Convolution, A::ConvolutionStrides, T::Int64, 3, {}},
    {D::Convolution, A::ConvolutionDilations, T::Int64, 3, {}},
    {D::Convolution, A::ConvolutionLow, T::Int64, 3, {}},
    {D::Convolution, A::ConvolutionHigh, T::Int64, 3, {}},
    {D::Forward, A::ForwardConvolution, T::Descriptor, 1, D::Convolution},
    {D::Forward, A::ForwardInput, T::Descriptor, 1, D::Tensor},
    {D::Forward, A::ForwardFilter, T::Descriptor, 1, D::Tensor},
    {D::Forward, A::ForwardOutput, T::Descriptor, 1, D::Tensor},
    {D::BackwardData, A::DataConvolution, T::Descriptor, 1, D::Convolution},
    {D::BackwardData, A::DataInput, T::Descriptor, 1, D::Tensor},
    {D::BackwardData, A::DataFilter, T::Descriptor, 1, D::Tensor},
    {D::BackwardData, A::DataOutput, T::Descriptor, 1, D::Tensor},
    {D::BackwardFilter, A::FilterConvolution, T::Descriptor, 1, D::Convolution},
    {D::BackwardFilter, A::FilterInput, T::Descriptor, 1, D::Tensor},
    {D::BackwardFilter, A::FilterFilter, T::Descriptor, 1, D::Tensor},
    {D::BackwardFilter, A::FilterOutput, T::Descriptor, 1, D::Tensor},
    {D::Graph, A::GraphHandle, T::Handle, 1, {}},
    {D::Graph, A::GraphOperations, T::Descriptor, 64, {}},
    {D::Heuristic, A::HeuristicGraph, T::Descriptor, 1, D::Graph},
    {D::Heuristic, A::HeuristicModeOf, T::HeuristicMode, 1, {}},
    {D::Plan, A::PlanHandle, T::Handle, 1, {}},
    {D::Plan, A::PlanConfig, T::Descriptor, 1, D::EngineConfig},
    {D::VariantPack, A::PackIds, T::Int64, 16, {}},
    {D::VariantPack, A::PackPointers, T::Pointer, 16, {}},
    {D::VariantPack, A::PackWorkspace, T::Pointer, 1, {}},
    // Scales have the type of the tensors.
    {D::Forward, A::ForwardAlpha, T::Float32, 1, {}},
    {D::Forward, A::ForwardBeta, T::Float32, 1, {}},
    {D::BackwardData, A::DataAlpha, T::Float32, 1, {}},
    {D::BackwardData, A::DataBeta, T::Float32, 1, {}},
    {D::BackwardFilter, A::FilterAlpha, T::Float32, 1, {}},
    {D::BackwardFilter, A::FilterBeta, T::Float32, 1, {}},
};

}  // namespace

const Attribute* attribute_of(DescriptorType owner, CudnnAttribute name) {
  const auto found =
      std::find_if(std::begin(kAttributes), std::end(kAttributes),
                   [&](const Attribute& row) { return row.owner == owner && row.name == name; });
  return found == std::end(kAttributes) ? nullptr : found;
}

bool is_complete(const Descriptor& descriptor) {
  return std::all_of(std::begin(kAttributes), std::end(kAttributes), [&](const Attribute& row) {
    return row.owner != descriptor.type || row.is_optional || descriptor.values.contains(row.name);
  });
}

std::size_t bytes_of(CudnnAttributeType type) {
  switch (type) {
    case T::Boolean:
    case T::Char: return 1;
    case T::DataType:
    case T::ConvolutionMode:
    case T::HeuristicMode:
    case T::NumericalNote:
    case T::PointwiseMode:
    case T::Reduction:
    case T::Float32: return 4;
    case T::Handle:
    case T::Int64:
    case T::Float64:
    case T::Pointer:
    case T::Descriptor: return 8;
  }
  return 0;
}

}  // namespace kiln::fake_cudnn
