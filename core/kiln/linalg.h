// Matmuls, transposition, lookups and counts. Formulas: Keras 2.2.5 unless stated otherwise.
#pragma once

#include <kiln/optional_operand.h>
#include <kiln/tensor.h>

#include <optional>

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
/// (batch,3,5,2,3): axes after the first are no batch axes, for which there is matmul. Numbers of
/// one dtype, kept.
/// Errors: ValueError for a rank below 2, more than two axes, an axis that is out of range or the
/// batch, or if batch sizes or contracted sizes differ; TypeError for different dtypes or bool.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::batch_dot(x, x, {.axes = 1}));  // [[ 5.] [25.]]
KILN_API Tensor batch_dot(const Operand& x, const Operand& y, const BatchDotOptions& options = {});

/// Returns the matrix products over the last two axes; all axes before them are batch axes, which
/// broadcast: (batch,heads,t,d) and (batch,heads,d,s) give (batch,heads,t,s), (batch,t,d) and (d,s)
/// give (batch,t,s). A vector x counts as a row, a vector y as a column, without that axis in the
/// result: two vectors give a scalar. Numbers of one dtype, kept. Meaning: NumPy's matmul, Keras
/// 3.5's ops.matmul.
/// Errors: ValueError for a scalar, if the contracted sizes differ, or if batch axes do not
/// broadcast; TypeError for different dtypes or bool.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::matmul(x, x));  // [[ 7. 10.] [15. 22.]]
KILN_API Tensor matmul(const Operand& x, const Operand& y);

/// Returns x with its axes in reverse order. x: any rank and dtype.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::transpose(x));  // [[1. 3.] [2. 4.]]
KILN_API Tensor transpose(const Operand& x);

struct GatherOptions {
  WholeNumber axis = 0;  ///< the axis of reference that the indices count
};
/// Returns the entries of an axis of reference at the indices. reference: any dtype; indices:
/// integers of any rank, not negative. The result has the dims of reference with those of indices
/// in place of the axis. The gradient accumulates repeated indices. Meaning: NumPy's take; in
/// Keras 2.2.5, the axis is 0.
/// Errors: TypeError unless indices are integers; ValueError for a scalar reference, an axis out of
/// range and, at the call, for an index out of range (not checked if entries have no elements).
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::gather(x, K::constant({1, 1}, {.dtype = "int32"})));  // [[3. 4.] [3. 4.]]
///     K::eval(K::gather(x, 1, {.axis = 1}));  // [2. 4.]
KILN_API Tensor gather(const Operand& reference, const Operand& indices,
                       const GatherOptions& options = {});

struct BincountOptions {
  OptionalOperand weights = None;  ///< what each element adds, a vector as long as x; None: 1
  WholeNumber minlength = 0;  ///< the least length of the result
  /// The length of the result if it is known: then a function does not run in partitions, and an
  /// element that does not fit is an error.
  std::optional<WholeNumber> length = {};
};
/// Returns a vector whose entry i is the number of elements of x that equal i, as int64, or the sum
/// of their weights, in the dtype of weights: numbers. x: a vector of integers, not negative. The
/// length is max(x) + 1 or minlength, the larger, which is data-dependent (ShapeEntry); `length`
/// fixes it. Gradients flow to the weights. Meaning: NumPy's bincount; `length` is Kiln's own.
/// Errors: TypeError unless x are integers, and for bool weights; ValueError unless x and weights
/// are vectors of one length, for a negative minlength or length, for both of them, and, at the
/// call, for a negative element or one of at least `length`.
///     const auto x = K::constant({0, 2, 2}, {.dtype = "int32"});
///     K::eval(K::bincount(x));  // [1 0 2]
KILN_API Tensor bincount(const Operand& x, const BincountOptions& options = {});

}  // namespace kiln
