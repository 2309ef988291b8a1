// Products and lookups: group D of the K functions. Formulas: Keras 2.2.5.
#pragma once

#include <kiln/tensor.h>

namespace kiln {

/// The sum of products over the last axis of x and the second to last of y (the last when y has
/// one axis): (2,3) and (4,3,5) give (2,4,5). Two vectors give a scalar, as in NumPy; a scalar
/// multiplies. Numbers of one dtype.
/// Errors: ValueError when the contracted sizes differ; TypeError for different dtypes or bool.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::dot(x, K::constant({1., 10.})));  // [21. 43.]
KILN_API Tensor dot(const Operand& x, const Operand& y);

struct BatchDotOptions {
  /// The contracted axis of each operand, or one number for both; axis 0 is the batch. Unset: the
  /// last of x, and the second to last of y (the last when y is a matrix).
  Axes axes = {};
};
/// For each sample, the sum of products over one axis of x and one of y: the dims of x without its
/// axis, then those of y without batch and axis; (batch, 1) when only the batch is left.
/// (batch,3,4,5) and (batch,2,3,4) with axes {2, 3} give (batch,3,5,2,3).
/// Errors: ValueError when a rank is below 2, an axis is out of range or the batch, there are more
/// than two axes, or the batch or the contracted sizes differ; TypeError for different dtypes and
/// for bool.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::batch_dot(x, x, {.axes = 1}));  // [[ 5.] [25.]]
KILN_API Tensor batch_dot(const Operand& x, const Operand& y, const BatchDotOptions& options = {});

/// x, of any rank and dtype, with its axes in reverse order.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::transpose(x));  // [[1. 3.] [2. 4.]]
KILN_API Tensor transpose(const Operand& x);

/// The entries of axis 0 of reference, of any dtype, at integer indices of any rank: dims of
/// indices, then those of reference without the first. Negative indices do not count from the end.
/// The gradient adds up where an index is repeated.
/// Errors: TypeError when indices are not integers; ValueError for a scalar reference and, at the
/// call, for an index outside (not checked when entries have no elements).
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::gather(x, K::constant({1, 1}, {.dtype = "int32"})));  // [[3. 4.] [3. 4.]]
KILN_API Tensor gather(const Operand& reference, const Operand& indices);

}  // namespace kiln
