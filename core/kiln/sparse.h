// Sparse matrices in COO format: the indices and values of some elements; all others are 0. dot
// takes one as left operand, concatenate joins them; other functions need to_dense first.
#pragma once

#include <kiln/tensor.h>

namespace kiln {

/// Returns whether a tensor is sparse: a placeholder with `.sparse`, a variable from a SparseArray,
/// a result of ctc_label_dense_to_sparse, or a concatenation of such.
/// Errors: ValueError for an empty tensor.
///     const auto x = K::placeholder({.shape = {K::None, 3}, .sparse = true});
///     K::is_sparse(x) && !K::is_sparse(K::to_dense(x));  // true
[[nodiscard]] KILN_API bool is_sparse(const Tensor& tensor, Where where = Where::here());

/// Converts a sparse tensor to a dense one; values with equal indices are added. A dense tensor is
/// returned as it is. Gradients flow to the values.
/// Errors: ValueError for an empty tensor.
///     const auto x = K::variable(K::SparseArray::of_dense(K::Array{{0.f, 5.f}}));
///     K::eval(K::to_dense(x));  // [[0. 5.]]
KILN_API Tensor to_dense(const Tensor& tensor, Where where = Where::here());

}  // namespace kiln
