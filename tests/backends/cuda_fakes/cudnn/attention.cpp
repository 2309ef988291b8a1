// A form is the list of operations; their tensors are checked one by one.
#include "tests/backends/cuda_fakes/cudnn/attention.h"

#include <algorithm>

namespace kiln::fake_cudnn {
namespace {

using A = CudnnAttribute;
using D = DescriptorType;

constexpr std::size_t kRank = 4, kRow = 2, kColumn = 3;

template <class Value>
Value optional(const Descriptor& descriptor, A name, Value otherwise) {
  return descriptor.values.contains(name) ? descriptor.one<Value>(name) : otherwise;
}

GraphTensor graph_tensor_of(const Descriptor& descriptor) {
  return {.tensor = {.type = descriptor.one<CudnnDataType>(A::TensorType),
                     .dims = descriptor.list<std::int64_t>(A::TensorDims),
                     .strides = descriptor.list<std::int64_t>(A::TensorStrides),
                     .id = descriptor.one<std::int64_t>(A::TensorId),
                     .alignment = descriptor.one<std::int64_t>(A::TensorAlignment)},
          .is_virtual = optional(descriptor, A::TensorIsVirtual, false),
          .is_value = optional(descriptor, A::TensorIsByValue, false)};
}

Operation pointwise_of(const Descriptor& from) {
  const Descriptor& work = from.at(A::PointwiseWorkOf);
  Operation to{.kind = from.type,
               .mode = work.one<PointwiseMode>(A::PointwiseModeOf),
               .axis = optional<std::int64_t>(work, A::PointwiseAxis, 0),
               .compute_type = work.one<CudnnDataType>(A::PointwiseComputeType),
               .output = graph_tensor_of(from.at(A::PointwiseOutput))};
  for (const A name : {A::PointwiseInput, A::PointwiseSecond, A::PointwiseCondition}) {
    if (from.values.contains(name)) to.inputs.push_back(graph_tensor_of(from.at(name)));
  }
  return to;
}

bool is_half(CudnnDataType type) {
  return type == CudnnDataType::Float16 || type == CudnnDataType::BFloat16;
}

std::size_t operands_of(PointwiseMode mode) {
  switch (mode) {
    case PointwiseMode::Exp:
    case PointwiseMode::Log:
    case PointwiseMode::GenerateIndex: return 1;
    case PointwiseMode::Select: return 3;
    default: return 2;
  }
}

std::string reason_of_tensor(const GraphTensor& graph_tensor) {
  const Tensor& tensor = graph_tensor.tensor;
  if (tensor.dims.size() != kRank || tensor.strides.size() != kRank) return "no 4 axes";
  const auto is_positive = [](std::int64_t number) { return number > 0; };
  if (!std::ranges::all_of(tensor.dims, is_positive)) return "an empty tensor";
  if (graph_tensor.is_virtual && graph_tensor.is_value) return "a virtual value";
  return "";
}

std::string reason_of_matmul(const Operation& matmul) {
  const auto &a = matmul.inputs[0].tensor.dims, &b = matmul.inputs[1].tensor.dims;
  const auto& c = matmul.output.tensor.dims;
  if (a[kColumn] != b[kRow] || a[kRow] != c[kRow] || b[kColumn] != c[kColumn]) {
    return "matrices that do not fit";
  }
  return "";
}

/// One letter for each operation, in order: "m*x-esl+/m" is forward without a mask.
std::string form_of(const std::vector<Operation>& operations) {
  std::string form;
  for (const Operation& one : operations) {
    switch (one.kind) {
      case D::Matmul: form += 'm'; break;
      case D::Reshape: form += 'r'; break;
      case D::Reduction: form += one.reduction == Reduction::Sum ? 's' : 'x'; break;
      default: break;
    }
    if (one.kind != D::Pointwise) continue;
    switch (one.mode) {
      case PointwiseMode::Add: form += '+'; break;
      case PointwiseMode::Subtract: form += '-'; break;
      case PointwiseMode::Multiply: form += '*'; break;
      case PointwiseMode::Divide: form += '/'; break;
      case PointwiseMode::Exp: form += 'e'; break;
      case PointwiseMode::Log: form += 'l'; break;
      case PointwiseMode::GreaterEqual: form += '>'; break;
      case PointwiseMode::GenerateIndex: form += 'i'; break;
      case PointwiseMode::Select: form += '?'; break;
    }
  }
  return form;
}

bool is_gradient(const std::vector<Operation>& operations) {
  return operations[0].kind == D::Pointwise;
}

/// Of the tensors of halves in memory: rows of vectors of 16 bytes.
std::string reason_of_depths(const std::vector<Operation>& operations) {
  const std::int64_t most = is_gradient(operations) ? 128 : 256;
  for (const Operation& one : operations) {
    if (one.kind != D::Matmul) continue;
    for (const GraphTensor* side : {&one.inputs[0], &one.inputs[1], &one.output}) {
      const Tensor& tensor = side->tensor;
      if (side->is_virtual) continue;
      if (!is_half(tensor.type)) return "matrices of another type";
      const std::int64_t depth = tensor.dims[tensor.strides[kColumn] == 1 ? kColumn : kRow];
      if (depth % 8 != 0) return "a depth that is no multiple of 8";
      if (depth > most) return "a depth that is too large";
    }
  }
  return "";
}

}  // namespace

bool is_part_of_attention(DescriptorType type) {
  return type == D::Matmul || type == D::Pointwise || type == D::Reduction || type == D::Reshape;
}

Operation operation_of(const Descriptor& from) {
  Operation to{.kind = from.type};
  switch (from.type) {
    case D::Pointwise: return pointwise_of(from);
    case D::Matmul:
      to.compute_type = from.at(A::MatmulWorkOf).one<CudnnDataType>(A::MatmulComputeType);
      to.inputs = {graph_tensor_of(from.at(A::MatmulLhs)), graph_tensor_of(from.at(A::MatmulRhs))};
      to.output = graph_tensor_of(from.at(A::MatmulOutput));
      return to;
    case D::Reduction: {
      const Descriptor& work = from.at(A::ReductionWorkOf);
      to.reduction = work.one<Reduction>(A::ReductionOf);
      to.compute_type = work.one<CudnnDataType>(A::ReductionComputeType);
      to.inputs = {graph_tensor_of(from.at(A::ReductionInput))};
      to.output = graph_tensor_of(from.at(A::ReductionOutput));
      return to;
    }
    default: break;
  }
  to.compute_type = CudnnDataType::Float32;
  to.inputs = {graph_tensor_of(from.at(A::ReshapeInput))};
  to.output = graph_tensor_of(from.at(A::ReshapeOutput));
  return to;
}

std::string reason_to_reject(const Operation& operation) {
  if (operation.compute_type != CudnnDataType::Float32) return "another compute type";
  for (const GraphTensor& input : operation.inputs) {
    if (const std::string reason = reason_of_tensor(input); !reason.empty()) return reason;
  }
  if (operation.output.is_value) return "a result that is a value";
  if (operation.kind == D::Matmul) return reason_of_matmul(operation);
  if (operation.kind == D::Pointwise && operation.inputs.size() != operands_of(operation.mode)) {
    return "another number of operands";
  }
  return reason_of_tensor(operation.output);
}

std::string reason_to_reject(const std::vector<Operation>& operations) {
  const std::string form = form_of(operations);
  constexpr std::string_view kForward = "x-esl+/m", kBackward = "-ermm-**rmrm";
  for (const std::string_view scores : {"m*", "m*ii>?"}) {
    if (form == std::string(scores).append(kForward)) return reason_of_depths(operations);
    if (form == std::string("*s*").append(scores).append(kBackward)) {
      return reason_of_depths(operations);
    }
  }
  return "no engine knows the graph " + form;
}

bool is_unaligned(const std::vector<Operation>& operations) {
  for (const Operation& one : operations) {
    for (const GraphTensor& input : one.inputs) {
      if (!input.is_virtual && !input.is_value && input.tensor.alignment < 16) return true;
    }
  }
  return false;
}

std::int64_t workspace_bytes(const std::vector<Operation>& operations) {
  if (!is_gradient(operations)) return 0;
  for (const Operation& one : operations) {
    if (one.kind != D::Matmul) continue;  // the first: of the scores
    const std::vector<std::int64_t>& dims = one.output.tensor.dims;
    const std::int64_t rows = (dims[kRow] + 63) / 64 * 64;
    const std::int64_t columns = (dims[kColumn] + 127) / 128 * 128;
    return dims[0] * dims[1] * rows * columns * 2 + 128;
  }
  return 0;
}

}  // namespace kiln::fake_cudnn
