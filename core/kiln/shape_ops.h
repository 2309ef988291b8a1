// Shape operations. They keep the dtype, which may be any, and gradients flow through them, unless
// stated otherwise. Negative axes count from the end. Unknown sizes are checked at the call.
// Semantics: NumPy's functions of the same purpose; Keras 2.3.1's where the name is specific to
// Keras.
#pragma once

#include <kiln/tensor.h>

#include <vector>

namespace kiln {

struct ConcatenateOptions {
  WholeNumber axis = -1;
};
struct StackOptions {
  WholeNumber axis = 0;
};
struct ExpandDimsOptions {
  WholeNumber axis = -1;
};
struct TriangleOptions {
  WholeNumber k = 0;  ///< the diagonal: 0 the main one, above it for k > 0, below it for k < 0
};
struct ArangeOptions {
  DTypeArgument dtype = "int32";  ///< int32, int64, float32 or float64
};

/// Returns x with another shape of as many elements, in C order. One entry may be -1: its size is
/// inferred. Entries may be integer scalar tensors, and the whole shape an integer vector tensor of
/// known length.
/// Errors: ValueError if the number of elements differs; for None, a second -1, -1 with a size of
/// 0, other negative sizes (at the call if data-dependent), and other tensors.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::reshape(x, {4, -1}));  // [[1.] [2.] [3.] [4.]]
KILN_API Tensor reshape(const Operand& x, const Shape& shape);
/// Permutes the axes: axis i of the result is axis pattern[i] of x (numpy.transpose).
/// Errors: ValueError unless pattern is a permutation of the axes.
///     const auto x = K::zeros({2, 3, 4});
///     K::int_shape(K::permute_dimensions(x, {0, 2, 1}));  // {2, 4, 3}
KILN_API Tensor permute_dimensions(const Operand& x, const std::vector<std::int64_t>& pattern);
inline Tensor permute_dimensions(const Operand& x, std::initializer_list<WholeNumber> pattern) {
  return permute_dimensions(x, std::vector<std::int64_t>(pattern.begin(), pattern.end()));
}
/// Concatenates tensors along an axis. Their dtypes and other sizes are equal. Sparse matrices give
/// a sparse matrix, along axis 0 or 1; with dense tensors they become dense.
/// Errors: ValueError for an empty list, scalars, different ranks or other sizes, or an axis out of
/// range; TypeError for different dtypes.
///     const auto x = K::constant({1., 2.});
///     K::eval(K::concatenate({x, x + 2}));  // [1. 2. 3. 4.]
KILN_API Tensor concatenate(const std::vector<Tensor>& tensors,
                            const ConcatenateOptions& options = {}, Where where = Where::here());
/// Stacks n tensors of equal shape (d0, ..) along a new axis of size n: (n, d0, ..) for axis 0.
/// Errors: ValueError for an empty list, different shapes or an axis out of range; TypeError for
/// different dtypes.
///     const auto x = K::constant({1., 2.});
///     K::eval(K::stack({x, x + 2}));  // [[1. 2.] [3. 4.]]
KILN_API Tensor stack(const std::vector<Tensor>& x, const StackOptions& options = {},
                      Where where = Where::here());
/// Inserts an axis of size 1 at that position of the result; -1 appends it.
/// Errors: ValueError for an axis out of range.
///     const auto x = K::constant({1., 2.});
///     K::eval(K::expand_dims(x));  // [[1.] [2.]]
KILN_API Tensor expand_dims(const Operand& x, const ExpandDimsOptions& options = {});
/// Removes an axis of size 1. Errors: ValueError for another size or an axis out of range.
///     const auto x = K::zeros({2, 1, 3});
///     K::int_shape(K::squeeze(x, 1));  // {2, 3}
KILN_API Tensor squeeze(const Operand& x, WholeNumber axis);
/// Flattens x to a vector, in C order; a scalar to (1,).
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::flatten(x));  // [1. 2. 3. 4.]
KILN_API Tensor flatten(const Operand& x);
/// Flattens all axes but the first: (n, ..) to (n, product of the others), which is unknown if one
/// of them is.
/// Errors: ValueError for a scalar.
///     const auto x = K::placeholder({.shape = {K::None, 3, 4}});
///     K::int_shape(K::batch_flatten(x));  // {None, 12}
KILN_API Tensor batch_flatten(const Operand& x);
/// Repeats each element `rep` times along `axis` (numpy.repeat): [a, b] with 2 gives [a, a, b, b].
/// Errors: ValueError for a negative rep or an axis out of range.
///     const auto x = K::constant({1., 2.});
///     K::eval(K::repeat_elements(x, 2, 0));  // [1. 1. 2. 2.]
KILN_API Tensor repeat_elements(const Operand& x, WholeNumber rep, WholeNumber axis);
/// Repeats a matrix along a new axis 1: (samples, d) to (samples, n, d).
/// Errors: ValueError for another rank or a negative n.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::repeat(x, 2));  // [[[1. 2.] [1. 2.]] [[3. 4.] [3. 4.]]]
KILN_API Tensor repeat(const Operand& x, WholeNumber n);
/// Repeats x n[i] times along axis i (numpy.tile); a shorter n applies to the last axes. Entries
/// are numbers or integer scalar tensors; n may be an integer vector tensor of known length, or a
/// scalar.
/// Errors: NotImplementedError if n is longer than the rank; ValueError for None and for a negative
/// entry (at the call if data-dependent).
///     const auto x = K::constant({1., 2.});
///     K::eval(K::tile(x, 2));  // [1. 2. 1. 2.]
///     K::eval(K::tile(x, {K::shape(x)[0]}));  // [1. 2. 1. 2.]
KILN_API Tensor tile(const Operand& x, const Shape& n);
KILN_API Tensor tile(const Operand& x, WholeNumber n);
/// Takes n from a list: {} is an empty list, not the number 0.
inline Tensor tile(const Operand& x, std::initializer_list<ShapeEntry> n) {
  return tile(x, Shape(n));
}
/// Returns a vector of evenly spaced numbers from start up to but excluding stop; a single argument
/// is stop, with start 0. Empty if stop is not in the direction of step. start and stop may be
/// scalar tensors: integers, or floating point if the dtype is. Element i is start + i step,
/// computed in int64 or float64 and converted to the dtype. No gradient.
/// Errors: ValueError for a step of 0, bounds that are not finite or not scalars, and elements out
/// of the range of int32 (at the call if data-dependent); TypeError for another dtype, and for a
/// fraction with an integer dtype or an unknown size.
///     const auto x = K::arange(1, 7, 2);
///     K::eval(x);  // [1 3 5]
KILN_API Tensor arange(const Operand& stop, const ArangeOptions& options = {});
KILN_API Tensor arange(const Operand& start, const Operand& stop,
                       const ArangeOptions& options = {});
KILN_API Tensor arange(const Operand& start, const Operand& stop, double step,
                       const ArangeOptions& options = {});
/// A bool or a character is no step.
template <class NoStep,
          std::enable_if_t<std::is_same_v<NoStep, bool> || is_character_v<NoStep>, int> = 0>
Tensor arange(const Operand& start, const Operand& stop, NoStep step,
              const ArangeOptions& options = {}) = delete;
/// One-hot encodes integers: indices (..) to (.., num_classes) of floatx(), with 1 at the index;
/// all zeros for an index out of range. No gradient. Semantics: TensorFlow's one_hot.
/// Errors: TypeError unless indices are integers; ValueError for a negative num_classes.
///     const auto labels = K::constant({1, 3}, {.dtype = "int32"});
///     K::eval(K::one_hot(labels, 3));  // [[0. 1. 0.] [0. 0. 0.]]
KILN_API Tensor one_hot(const Operand& indices, WholeNumber num_classes);
/// Slices each axis i of x: size[i] elements from start[i] on; a size of -1 means all remaining
/// ones. Entries are numbers or integer scalar tensors, or the whole list is an integer vector
/// tensor.
/// Errors: ValueError if a list does not have one entry per axis, for an entry that is None or not
/// an integer, and for elements out of range (at the call if that is unknown).
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::slice(x, {1, 0}, {1, -1}));  // [[3. 4.]]
KILN_API Tensor slice(const Operand& x, const Shape& start, const Shape& size);
/// Returns the number of elements at run time, as an int64 scalar. No gradient.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::size(x));  // 4
KILN_API Tensor size(const Operand& x, const NameOptions& options = {});
/// Returns x with size 1 on the axes marked true, so that these axes broadcast.
/// Errors: ValueError unless there is one mark per axis; if a marked axis has another size (at the
/// call if it is unknown).
///     const auto x = K::placeholder({.shape = {K::None, 3}});
///     K::int_shape(K::pattern_broadcast(x, {true, false}));  // {1, 3}
KILN_API Tensor pattern_broadcast(const Operand& x, const std::vector<bool>& broadcastable);
/// Returns x with 0 above diagonal k of each matrix of the last two axes: element (i, j) is kept
/// where j <= i + k. Elements that become 0 get no gradient. Meaning: NumPy's tril, for a rank of 2
/// or more.
/// Errors: ValueError for a lower rank.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::tril(x));  // [[1. 0.] [3. 4.]]
KILN_API Tensor tril(const Operand& x, const TriangleOptions& options = {});
/// Returns x with 0 below diagonal k: element (i, j) is kept where j >= i + k. Otherwise as tril.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::triu(x, {.k = 1}));  // [[0. 2.] [0. 0.]]
KILN_API Tensor triu(const Operand& x, const TriangleOptions& options = {});
/// Reverses the order of elements along axes (numpy.flip); None means all axes, {} none.
/// Errors: ValueError for an axis out of range or repeated.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::reverse(x, -1));  // [[2. 1.] [4. 3.]]
KILN_API Tensor reverse(const Operand& x, const Axes& axes);

}  // namespace kiln
