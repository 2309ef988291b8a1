// What is behind a sparse tensor: dense values of the graph, which knows nothing of sparse ones.
#pragma once

#include "core/kiln/tensor_impl.h"

#include <kiln/sparse.h>

namespace kiln {

/// Elements without an index are 0; those with the same one add up.
struct SparseParts {
  ir::Value indices;  // int64 (count, 2): row and column
  ir::Value values;   // (count)
  ir::Dims dims;      // rows, columns
  ir::Value extent;   // of a placeholder: bool (rows, columns, 0), which is fed for its sizes alone
  ir::Type type() const { return {values.dtype(), dims}; }
};

/// Null for a dense tensor and an empty one.
const SparseParts* sparse_of(const Tensor& tensor);
Tensor wrap_sparse(SparseParts parts, const std::string& name = "");
/// Of a dense or sparse tensor. ValueError naming `x` when it is empty.
ir::Type type_of(const Tensor& x);

ir::Value dense_of(const SparseParts& parts);

/// ValueError for another rank than 2.
Tensor sparse_placeholder(const ir::Type& type, const std::string& name);
/// x (m, k) times y (k) or (k, n).
ir::Value sparse_dot(const SparseParts& x, const ir::Value& y);
/// One after the other along axis 0 or 1; ValueError for other sizes than fit.
SparseParts sparse_concatenate(const std::vector<const SparseParts*>& parts, int axis);

}  // namespace kiln
