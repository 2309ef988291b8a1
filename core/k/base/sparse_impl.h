// Operations on sparse matrices (SparseParts in tensor_impl.h).
#pragma once

#include "core/k/base/tensor_impl.h"

#include <kiln/sparse.h>

namespace kiln {

/// A sparse tensor of these parts; the name is prefixed by the current name scope.
Tensor wrap_sparse(SparseParts parts, const std::string& name = "");
/// The dense matrix.
ir::Value dense_of(const SparseParts& parts);

/// A sparse placeholder. Throws ValueError unless the rank is 2.
Tensor sparse_placeholder(const ir::Type& type, const std::string& name);
/// The product of x (m, k) with y (k) or (k, n).
ir::Value sparse_dot(const SparseParts& x, const ir::Value& y);
/// The concatenation along axis 0 or 1. Throws ValueError if the other dims differ.
SparseParts sparse_concatenate(const std::vector<const SparseParts*>& parts, int axis);

}  // namespace kiln
