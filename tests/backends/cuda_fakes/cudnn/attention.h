// Operation graphs of attention: their operations, and what the library rejects of them.
#pragma once

#include "tests/backends/cuda_fakes/cudnn/descriptors.h"

#include <string>
#include <vector>

namespace kiln::fake_cudnn {

/// A tensor of an operation graph. Virtual ones have no memory; a value is a number of the host.
struct GraphTensor {
  Tensor tensor;
  bool is_virtual = false, is_value = false;
};

/// One operation, of the matrices and numbers in `inputs`: those of a pointwise operation are its
/// one or two operands and maybe a condition.
struct Operation {
  DescriptorType kind{};
  PointwiseMode mode{};
  Reduction reduction{};
  std::int64_t axis = 0;  // of an index
  CudnnDataType compute_type{};
  std::vector<GraphTensor> inputs = {};
  GraphTensor output = {};
};

/// Matmul, pointwise operation, reduction or reshape.
bool is_part_of_attention(DescriptorType type);
/// The operation whose attributes are set.
Operation operation_of(const Descriptor& operation);
/// The reason why the library rejects the operation; empty: it does not.
std::string reason_to_reject(const Operation& operation);
/// The reason why no engine knows the graph; empty: engines do. The forms are those of cuDNN 9.19,
/// without dropout and bias, the gradient without atomics, for sm_80.
std::string reason_to_reject(const std::vector<Operation>& operations);
/// Whether an address of the graph's tensors may be a multiple of their elements alone.
bool is_unaligned(const std::vector<Operation>& operations);
/// Bytes of workspace: of a gradient, a matrix of halves in whole tiles for each matrix.
std::int64_t workspace_bytes(const std::vector<Operation>& operations);

}  // namespace kiln::fake_cudnn
