// Shape operations: group H of the K functions. Meaning: NumPy's functions of the same purpose, and
// Keras 2.3.1's where the name is Keras' own. They take any dtype and keep it, and gradients pass
// through them, unless the function says otherwise. Axes may be counted from the end. Sizes that
// are unknown when the graph is built are checked at the call.
#pragma once

#include <kiln/tensor.h>

#include <vector>

namespace kiln {

struct ConcatenateOptions {
  int axis = -1;
};
struct StackOptions {
  int axis = 0;
};
struct ExpandDimsOptions {
  int axis = -1;
};
struct ArangeOptions {
  DTypeArgument dtype = "int32";  ///< int32, int64, float32 or float64
};

/// x with another shape of as many elements, in C order. One entry may be -1 (what is left); an
/// entry may be an integer scalar tensor, and the whole shape an integer vector tensor of known
/// length. Errors: ValueError when the number of elements differs, for None, a second -1, -1 beside
/// a size of 0 and another negative size (at the call when they are data), and for other tensors.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::reshape(x, {4, -1}));  // [[1.] [2.] [3.] [4.]]
KILN_API Tensor reshape(const Operand& x, const Shape& shape);
/// Axis i of the result is axis pattern[i] of x (numpy.transpose).
/// Errors: ValueError when pattern is no permutation of the axes, or one is out of range.
///     const auto x = K::zeros({2, 3, 4});
///     K::int_shape(K::permute_dimensions(x, {0, 2, 1}));  // {2, 4, 3}
KILN_API Tensor permute_dimensions(const Operand& x, const std::vector<std::int64_t>& pattern);
/// The tensors one after the other along an axis. They have equal rank, dtype and other dims.
/// Sparse matrices give a sparse matrix, along axis 0 or 1; beside dense tensors they become dense.
/// Errors: ValueError for an empty list, scalars, different ranks or other dims and an axis out of
/// range; TypeError for different dtypes.
///     const auto x = K::constant({1., 2.});
///     K::eval(K::concatenate({x, x + 2}));  // [1. 2. 3. 4.]
KILN_API Tensor concatenate(const std::vector<Tensor>& tensors,
                            const ConcatenateOptions& options = {}, Where where = Where::here());
/// n tensors of dims (d0, ..) along a new axis of the result, of size n: (n, d0, ..) for axis 0.
/// Errors: ValueError for an empty list, different dims and an axis outside of the result;
/// TypeError for different dtypes.
///     const auto x = K::constant({1., 2.});
///     K::eval(K::stack({x, x + 2}));  // [[1. 2.] [3. 4.]]
KILN_API Tensor stack(const std::vector<Tensor>& x, const StackOptions& options = {},
                      Where where = Where::here());
/// A new axis of size 1 at that position of the result; -1 appends.
/// Errors: ValueError for an axis outside of the result.
///     const auto x = K::constant({1., 2.});
///     K::eval(K::expand_dims(x));  // [[1.] [2.]]
KILN_API Tensor expand_dims(const Operand& x, const ExpandDimsOptions& options = {});
/// x without one axis, whose size must be 1.
/// Errors: ValueError for another size and an axis out of range.
///     const auto x = K::zeros({2, 1, 3});
///     K::int_shape(K::squeeze(x, 1));  // {2, 3}
KILN_API Tensor squeeze(const Operand& x, int axis);
/// All elements as a vector, in C order: (d0, d1, ..) to (d0 d1 ..); a scalar to (1,).
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::flatten(x));  // [1. 2. 3. 4.]
KILN_API Tensor flatten(const Operand& x);
/// (n, ..) to (n, product of the rest), which int_shape shows as None when one of it is unknown.
/// Errors: ValueError for a scalar.
///     const auto x = K::placeholder({.shape = {K::None, 3, 4}});
///     K::int_shape(K::batch_flatten(x));  // {None, 12}
KILN_API Tensor batch_flatten(const Operand& x);
/// Each element `rep` times in a row along `axis` (numpy.repeat): [a, b] with 2 gives [a, a, b, b].
/// Errors: ValueError for a negative rep and an axis out of range.
///     const auto x = K::constant({1., 2.});
///     K::eval(K::repeat_elements(x, 2, 0));  // [1. 1. 2. 2.]
KILN_API Tensor repeat_elements(const Operand& x, std::int64_t rep, int axis);
/// (samples, d) to (samples, n, d). Errors: ValueError for another rank and a negative n.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::repeat(x, 2));  // [[[1. 2.] [1. 2.]] [[3. 4.] [3. 4.]]]
KILN_API Tensor repeat(const Operand& x, std::int64_t n);
/// x repeated n[i] times along axis i, as numpy.tile: a shorter n applies to the last axes. Entries
/// are numbers, dims and integer scalars; n may be an integer vector of known length, or a scalar.
/// Errors: NotImplementedError when n is longer than the rank; ValueError for None and for a
/// negative entry (at the call when it is data).
///     const auto x = K::constant({1., 2.});
///     K::eval(K::tile(x, 2));  // [1. 2. 1. 2.]
///     K::eval(K::tile(x, {K::shape(x)[0]}));  // [1. 2. 1. 2.]
KILN_API Tensor tile(const Operand& x, const Shape& n);
KILN_API Tensor tile(const Operand& x, std::int64_t n);
/// {} is no entry, not the number 0.
inline Tensor tile(const Operand& x, std::initializer_list<ShapeEntry> n) {
  return tile(x, Shape(n));
}
/// start, start + step, .. before stop, as a vector; with one argument it is stop and start is 0.
/// Empty when stop lies the other way. start and stop may be scalar tensors: integers, or floating
/// point where the dtype is. Element i is start + i step, in 64 bits or in float64, and then the
/// dtype. No gradient. Errors: ValueError for a step of 0, ends that are no scalars or not finite
/// and elements outside of int32 (at the call when they are data); TypeError for another dtype, and
/// for a fraction where the dtype is an integer's or a size is unknown.
///     const auto x = K::arange(1, 7, 2);
///     K::eval(x);  // [1 3 5]
KILN_API Tensor arange(const Operand& stop, const ArangeOptions& options = {});
KILN_API Tensor arange(const Operand& start, const Operand& stop,
                       const ArangeOptions& options = {});
KILN_API Tensor arange(const Operand& start, const Operand& stop, double step,
                       const ArangeOptions& options = {});
/// Integer indices (..) to (.., num_classes) of floatx(): 1 at the index, zeros for an index
/// outside, as TensorFlow's one_hot. No gradient.
/// Errors: TypeError when indices are not integers; ValueError for a negative num_classes.
///     const auto labels = K::constant({1, 3}, {.dtype = "int32"});
///     K::eval(K::one_hot(labels, 3));  // [[0. 1. 0.] [0. 0. 0.]]
KILN_API Tensor one_hot(const Operand& indices, std::int64_t num_classes);
/// Of each axis i of x the size[i] elements from start[i] on. The entries are numbers or integer
/// scalar tensors, or the whole list an integer vector tensor; a size of -1 is what is left.
/// Errors: ValueError when a list has another length than the rank of x, when an entry is None or
/// no integer and when the elements lie outside (at the call when that is unknown).
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::slice(x, {1, 0}, {1, -1}));  // [[3. 4.]]
KILN_API Tensor slice(const Operand& x, const Shape& start, const Shape& size);
/// The number of elements as an int64 scalar; 1 for a scalar. No gradient.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::size(x));  // 4
KILN_API Tensor size(const Operand& x, const NameOptions& options = {});
/// x, of which the axes that are marked true have size 1 and therefore broadcast against any size.
/// Errors: ValueError unless there is a mark for each axis, and when a marked axis has another size
/// (at the call when it is unknown).
///     const auto x = K::placeholder({.shape = {K::None, 3}});
///     K::int_shape(K::pattern_broadcast(x, {true, false}));  // {1, 3}
KILN_API Tensor pattern_broadcast(const Operand& x, const std::vector<bool>& broadcastable);
/// x with the order of these axes reversed (numpy.flip): one, several, none for an empty list, and
/// all with None.
/// Errors: ValueError for an axis out of range or named twice.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::reverse(x, -1));  // [[2. 1.] [4. 3.]]
KILN_API Tensor reverse(const Operand& x, const Axes& axes);

}  // namespace kiln
