// Matmuls, transposition and lookups. Formulas: Keras 2.2.5.
#pragma once

#include <kiln/tensor.h>

namespace kiln {

/// Returns the dot product over the last axis of x and the second to last of y, or the last if y is
/// a vector. As NumPy's dot: (2,3) and (4,3,5) give (2,4,5), two vectors a scalar; a scalar operand
/// multiplies. Numbers of one dtype, kept. x may be a sparse matrix.
/// Errors: ValueError if the contracted sizes differ; TypeError for different dtypes or bool.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::dot(x, K::constant({1., 10.})));  // [21. 43.]
KILN_API Tensor dot(const Operand& x, const Operand& y);

struct BatchDotOptions {
  /// The contracted axis of each operand, or one number for both; axis 0 is the batch. None: the
  /// last axis of x, and the second to last of y (the last if y is a matrix).
  Axes axes = None;
};
/// Returns the dot product of each sample, over one axis of x and one of y. The result has the dims
/// of x without its contracted axis, then those of y without the batch and its contracted axis;
/// (batch, 1) if only the batch is left. (batch,3,4,5) and (batch,2,3,4) with axes {2, 3} give
/// (batch,3,5,2,3). Numbers of one dtype, kept.
/// Errors: ValueError for a rank below 2, more than two axes, an axis that is out of range or the
/// batch, or if batch sizes or contracted sizes differ; TypeError for different dtypes or bool.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::batch_dot(x, x, {.axes = 1}));  // [[ 5.] [25.]]
KILN_API Tensor batch_dot(const Operand& x, const Operand& y, const BatchDotOptions& options = {});

/// Returns x with its axes in reverse order. x: any rank and dtype.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::transpose(x));  // [[1. 3.] [2. 4.]]
KILN_API Tensor transpose(const Operand& x);

/// Returns the entries of axis 0 of reference at the indices. reference: any dtype; indices:
/// integers of any rank, not negative. The result has the dims of indices, then those of reference
/// without the first. The gradient accumulates repeated indices.
/// Errors: TypeError unless indices are integers; ValueError for a scalar reference and, at the
/// call, for an index out of range (not checked if entries have no elements).
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::gather(x, K::constant({1, 1}, {.dtype = "int32"})));  // [[3. 4.] [3. 4.]]
KILN_API Tensor gather(const Operand& reference, const Operand& indices);

}  // namespace kiln
