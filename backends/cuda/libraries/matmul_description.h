// Describes a matmul in cuBLASLt's terms: column-major matrices with one batch stride each.
#pragma once

#include "backends/codegen/bind/slot_sizes.h"

#include <compare>

namespace kiln::cuda {

/// A column-major matrix of each batch: element (i, j) is at i + j * leading_dim.
struct MatrixLayout {
  std::int64_t rows = 0, columns = 0, leading_dim = 0;
  std::int64_t batch_stride = 0;  // in elements; 0: all batches read the same matrix

  auto operator<=>(const MatrixLayout&) const = default;
};

/// The maximum batch count of one call: gridDim.y and gridDim.z are at most 65,535. A power of 2,
/// so that the operands of later calls are as aligned as those of the first.
inline constexpr std::int64_t kMaxBatches = 32768;

/// d = op(a) op(b) for each batch, where op may transpose; the bias is added to each column of d. A
/// row-major result C = A B is the column-major result C^T = B^T A^T: a is the rhs, b the lhs.
struct MatmulDescription {
  DType dtype = DType::Float32;
  bool tf32 = false;  // rounds operands of float32
  bool bias = false;
  bool transposes_a = false, transposes_b = false;
  MatrixLayout a, b, d;
  std::int64_t k = 0;
  std::int64_t batches = 1;

  /// Whether the result has no elements.
  bool is_empty() const { return batches == 0 || d.rows == 0 || d.columns == 0; }

  auto operator<=>(const MatmulDescription&) const = default;
};

/// "float32 M=4 N=5 K=3", of the row-major matmul; with 6 batches "... for each of 6".
std::string text_of(const MatmulDescription& matmul);

/// Returns the batch axes, in no particular order, after merging every pair that is contiguous in
/// all tensors (outer stride = inner stride x inner size). Drops axes of size 1.
std::vector<codegen::MatmulAxis> merged_batches(const codegen::BatchedMatmul& form);

/// Describes the matmul for the sizes of a call. REQUIRES: at most one of merged_batches(). Throws
/// codegen::SizeFailure for a size that cuBLASLt cannot count, and what `evaluate` throws.
MatmulDescription describe(const codegen::MatmulStep& step, bool tf32,
                           const codegen::EvaluateDim& evaluate);

}  // namespace kiln::cuda
