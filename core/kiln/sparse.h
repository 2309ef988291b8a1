// Sparse matrices: the part of groups A and B that is about them. A sparse tensor is known by the
// indices and values of some of its elements; all others are 0. dot takes one on the left,
// concatenate joins them; for everything else to_dense comes first.
#pragma once

#include <kiln/tensor.h>

namespace kiln {

/// Whether x is sparse: a placeholder with `.sparse`, a variable made from a SparseArray, what
/// ctc_label_dense_to_sparse gives, or sparse tensors joined. Errors: ValueError for an empty one.
///     const auto x = K::placeholder({.shape = {K::None, 3}, .sparse = true});
///     K::is_sparse(x) && !K::is_sparse(K::to_dense(x));  // true
KILN_API bool is_sparse(const Tensor& tensor, Where where = Where::here());

/// The dense tensor of equal elements, those with one index added up; a dense one as it is.
/// Gradients flow to the values. Errors: ValueError for an empty tensor.
///     const auto x = K::variable(K::SparseArray::of_dense(K::Array{{0.f, 5.f}}));
///     K::eval(K::to_dense(x));  // [[0. 5.]]
KILN_API Tensor to_dense(const Tensor& tensor, Where where = Where::here());

}  // namespace kiln
