// Operations on the dense values behind a sparse tensor (SparseParts in tensor_impl.h).
#pragma once

#include "core/k/frame/tensor_impl.h"

#include <kiln/sparse.h>

namespace kiln {

Tensor wrap_sparse(SparseParts parts, const std::string& name = "");
ir::Value dense_of(const SparseParts& parts);

/// ValueError for another rank than 2.
Tensor sparse_placeholder(const ir::Type& type, const std::string& name);
/// x (m, k) times y (k) or (k, n).
ir::Value sparse_dot(const SparseParts& x, const ir::Value& y);
/// One after the other along axis 0 or 1; ValueError for other sizes than fit.
SparseParts sparse_concatenate(const std::vector<const SparseParts*>& parts, int axis);

}  // namespace kiln
