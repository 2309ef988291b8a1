// Sets the attributes of cuDNN's descriptors.
#include "backends/cuda/libraries/convolution_plan.h"

namespace kiln::cuda {
namespace {

using api::CudnnAttribute;
using api::DescriptorType;
using ir::ConvRole;

constexpr const char* kDescribe = "describe a convolution";

/// The operation descriptor of a role, and its attributes.
struct RoleAttributes {
  DescriptorType operation;
  CudnnAttribute convolution, input, filter, output, alpha, beta;
};

using A = CudnnAttribute;
constexpr RoleAttributes kRoles[] = {
    {.operation = DescriptorType::BackwardData,
     .convolution = A::DataConvolution,
     .input = A::DataInput,
     .filter = A::DataFilter,
     .output = A::DataOutput,
     .alpha = A::DataAlpha,
     .beta = A::DataBeta},
    {.operation = DescriptorType::BackwardFilter,
     .convolution = A::FilterConvolution,
     .input = A::FilterInput,
     .filter = A::FilterFilter,
     .output = A::FilterOutput,
     .alpha = A::FilterAlpha,
     .beta = A::FilterBeta},
    {.operation = DescriptorType::Forward,
     .convolution = A::ForwardConvolution,
     .input = A::ForwardInput,
     .filter = A::ForwardFilter,
     .output = A::ForwardOutput,
     .alpha = A::ForwardAlpha,
     .beta = A::ForwardBeta},
};

/// Of sums.
api::CudnnDataType compute_type_of(DType dtype) {
  return dtype == DType::Float64 ? api::CudnnDataType::Float64 : api::CudnnDataType::Float32;
}

BackendDescriptor tensor(const api::Cudnn& library, const Device* device,
                         const TensorLayout& layout, DType dtype, std::int64_t id,
                         std::int64_t alignment) {
  BackendDescriptor descriptor(library, device, DescriptorType::Tensor, kDescribe);
  descriptor.set(A::TensorType, data_type_of(dtype));
  descriptor.set_list(A::TensorDims, layout.dims);
  descriptor.set_list(A::TensorStrides, layout.strides);
  descriptor.set(A::TensorId, id);
  descriptor.set(A::TensorAlignment, alignment);
  descriptor.finalize();
  return descriptor;
}

BackendDescriptor window(const api::Cudnn& library, const Device* device,
                         const ConvolutionDescription& convolution) {
  BackendDescriptor descriptor(library, device, DescriptorType::Convolution, kDescribe);
  descriptor.set(A::ConvolutionComputeType, compute_type_of(convolution.dtype));
  descriptor.set(A::ConvolutionModeOf, api::ConvolutionMode::CrossCorrelation);
  descriptor.set(A::ConvolutionAxes, static_cast<std::int64_t>(convolution.strides.size()));
  descriptor.set_list(A::ConvolutionStrides, convolution.strides);
  descriptor.set_list(A::ConvolutionDilations, convolution.dilations);
  descriptor.set_list(A::ConvolutionLow, convolution.padding);
  descriptor.set_list(A::ConvolutionHigh, convolution.padding);
  descriptor.finalize();
  return descriptor;
}

/// Result = 1 x convolution + 0 x result.
void set_scales(const BackendDescriptor& operation, const RoleAttributes& role, DType dtype) {
  if (dtype == DType::Float64) {
    operation.set(role.alpha, 1.0);
    operation.set(role.beta, 0.0);
  } else {
    operation.set(role.alpha, 1.0f);
    operation.set(role.beta, 0.0f);
  }
}

}  // namespace

ConvolutionGraph::ConvolutionGraph(const api::Cudnn& library,
                                   const ConvolutionDescription& convolution,
                                   std::int64_t alignment, const PlanDevice& device)
    : input_(tensor(library, device.device, convolution.input, convolution.dtype, kInputId,
                    alignment)),
      filter_(tensor(library, device.device, convolution.filter, convolution.dtype, kFilterId,
                     alignment)),
      output_(tensor(library, device.device, convolution.output, convolution.dtype, kOutputId,
                     alignment)),
      convolution_(window(library, device.device, convolution)),
      operation_(library, device.device,
                 kRoles[static_cast<std::size_t>(convolution.role)].operation, kDescribe),
      graph_(library, device.device, DescriptorType::Graph, kDescribe) {
  const RoleAttributes& role = kRoles[static_cast<std::size_t>(convolution.role)];
  operation_.set(role.convolution, convolution_);
  operation_.set(role.input, input_);
  operation_.set(role.filter, filter_);
  operation_.set(role.output, output_);
  set_scales(operation_, role, convolution.dtype);
  operation_.finalize();
  if (device.handle != nullptr) graph_.set(A::GraphHandle, device.handle);
  graph_.set(A::GraphOperations, operation_);
  graph_.finalize();
}

ConvolutionPlan::ConvolutionPlan(const api::Cudnn& library,
                                 const ConvolutionDescription& convolution, std::int64_t alignment,
                                 const PlanDevice& device)
    : graph_(library, convolution, alignment, device),
      engine_(library, device,
              {.graph = graph_.graph(),
               .rules = {.deterministic = convolution.deterministic,
                         .keeps_float32 = convolution.dtype == DType::Float32 && !convolution.tf32},
               .action = "choose an engine for a convolution",
               .operation = "convolution " + text_of(convolution)}) {}

}  // namespace kiln::cuda
