// A Dot (an einsum of two operands) as a strided batched matmul: its labels are classified into M,
// N, K and batch, and axes of one class are merged into one where the strides allow it.
//
// Before: dot %0[b, i, j, k] %1[k, n] -> [b, i, j, n], both dense
// After:  m = b * i * j, n, k; no batch
#pragma once

#include "backends/codegen/access/storage.h"

#include <optional>
#include <string>

namespace kiln::codegen {

/// An axis of the matmul's loop nest: its extent, and its stride in each tensor, in elements (0:
/// the tensor does not have the axis).
struct MatmulAxis {
  ir::Dim size = 1;
  ir::Dim lhs = 0, rhs = 0, result = 0;
};

/// result[batch, m, n] = sum over k of lhs[batch, m, k] * rhs[batch, k, n]. Sizes are symbolic;
/// MatmulShape (host/prepared) has the numbers of one call.
struct BatchedMatmul {
  std::vector<MatmulAxis> batch;
  MatmulAxis m, n, k;
  ir::Dim lhs_offset = 0, rhs_offset = 0;
  /// lhs is the Dot's second operand: (rhs^T lhs^T)^T is computed, so that the result's elements
  /// along n are contiguous.
  bool swapped = false;
  ir::Value lhs, rhs;  // the tensors that store the elements
  /// Whether a matrix is a strided view of its tensor, not the whole tensor in dense order.
  bool lhs_is_view = false, rhs_is_view = false;
};

/// Reads operand i of the Dot as a strided view of its source if as_view[i], else as a dense
/// tensor. Returns nothing, with the reason in `reason` (unless null), when the axes of K do not
/// merge into one, or when a matrix is contiguous along neither of its axes.
std::optional<BatchedMatmul> batched_matmul(const ir::Node& dot, const SizeNames& names,
                                            const Storage& storage, const bool (&as_view)[2],
                                            std::string* reason = nullptr);

}  // namespace kiln::codegen
