// Creates placeholders and constant tensors, and inspects tensors without computing them.
#pragma once

#include <kiln/tensor.h>

#include <optional>
#include <string>
#include <vector>

namespace kiln {

struct PlaceholderOptions {
  Shape shape = Shape::unset();   ///< takes precedence over ndim; {} is a scalar
  std::optional<WholeNumber> ndim = {};  ///< the rank, if all sizes are unknown
  DTypeArgument dtype = {};       ///< unset: floatx()
  Flag sparse = false;            ///< whether it is a sparse matrix (kiln/sparse.h)
  StringArgument name = {};       ///< for messages; may be empty
};

/// Creates a placeholder: an input of a compiled function. Each None is an unknown size of its own.
/// Errors: ValueError if neither shape nor ndim is given, a size or ndim is negative, the rank
/// exceeds 64, or a sparse one does not have rank 2; TypeError for an unknown dtype name.
///     const auto x = K::placeholder({.shape = {K::None, 784}, .name = "x"});
///     x;  // x float32[None,784]
KILN_API Tensor placeholder(const PlaceholderOptions& options, Where where = Where::here());

/// Returns whether x is a placeholder. Never throws.
///     const auto x = K::placeholder({.ndim = 2});
///     K::is_placeholder(x);  // true
[[nodiscard]] KILN_API bool is_placeholder(const Tensor& x);

/// Returns whether x is a tensor rather than a number; false for an empty tensor. Never throws.
///     const auto x = K::zeros({2});
///     K::is_tensor(x) && !K::is_tensor(3);  // true
[[nodiscard]] KILN_API bool is_tensor(const Operand& x);

/// Returns whether x is a variable. Never throws.
///     const auto x = K::zeros({2});
///     K::is_variable(x) && !K::is_variable(x + 1);  // true
[[nodiscard]] KILN_API bool is_variable(const Tensor& x);

/// Returns whether x comes from a Keras layer: always false here. Provided for compatibility.
/// Errors: ValueError for an empty tensor.
///     const auto x = K::placeholder({.ndim = 2});
///     K::is_keras_tensor(x);  // false
[[nodiscard]] KILN_API bool is_keras_tensor(const Tensor& x, Where where = Where::here());

/// Returns the shape of x at run time as an int64 vector, whose entries can be used as sizes. x:
/// any dtype, dense or sparse.
/// Errors: ValueError for an empty tensor.
///     const auto x = K::placeholder({.shape = {K::None, 3}});
///     K::function({x}, {K::shape(x)})({K::Array::zeros({2, 3})})[0];  // [2 3]
KILN_API Tensor shape(const Operand& x);

/// Returns the static shape of x, with nullopt for unknown sizes. Errors: ValueError for an empty
/// tensor.
///     const auto x = K::placeholder({.shape = {K::None, 3}});
///     K::int_shape(x);  // {None, 3}
[[nodiscard]] KILN_API std::vector<std::optional<std::int64_t>> int_shape(
    const Tensor& x, Where where = Where::here());
/// Returns the rank of x. Errors: ValueError for an empty tensor.
///     const auto x = K::placeholder({.shape = {K::None, 3}});
///     K::ndim(x);  // 2
[[nodiscard]] KILN_API int ndim(const Tensor& x, Where where = Where::here());
/// Returns the name of the dtype of x, such as "float32". Errors: ValueError for an empty tensor.
///     const auto x = K::constant({1, 2});
///     K::dtype(x > 0);  // bool
[[nodiscard]] KILN_API std::string dtype(const Tensor& x, Where where = Where::here());

struct LikeOptions {
  DTypeArgument dtype = {};  ///< unset: the dtype of x (Keras' documentation, up to 2.2.4)
  StringArgument name = {};
};
/// Returns zeros with the shape that x has at run time. x: any dtype. No gradient.
/// Errors: ValueError for an empty tensor; TypeError for an unknown dtype name.
///     const auto x = K::constant({3., 4.});
///     K::eval(K::zeros_like(x));  // [0. 0.]
KILN_API Tensor zeros_like(const Operand& x, const LikeOptions& options = {});
/// Returns ones with the shape that x has at run time. x: any dtype. No gradient.
/// Errors: those of zeros_like.
///     const auto x = K::constant({3., 4.});
///     K::eval(K::ones_like(x));  // [1. 1.]
KILN_API Tensor ones_like(const Operand& x, const LikeOptions& options = {});

/// Returns a copy of x as a node of its own, so that `gradients` can be taken with respect to it.
/// x: any dtype.
/// Errors: ValueError for an empty tensor.
///     const auto x = K::constant({3., 4.}), y = K::identity(x);
///     K::same_node(x, y);  // false
KILN_API Tensor identity(const Operand& x, const NameOptions& options = {});

/// Returns the number of elements of x; 1 for a scalar. Errors: ValueError if a size is unknown.
///     const auto weights = K::zeros({784, 10});
///     K::count_params(weights);  // 7840
[[nodiscard]] KILN_API std::int64_t count_params(const Tensor& x, Where where = Where::here());

/// Converts x to another dtype. Floating point to integer truncates toward zero and saturates, NaN
/// gives 0; integer to integer wraps; to bool is x != 0; bool to number is 0 or 1.
/// Errors: TypeError for an unknown dtype name.
///     const auto x = K::constant({-1.5, 1.5});
///     K::eval(K::cast(x, "int32"));  // [-1 1]
KILN_API Tensor cast(const Operand& x, const DTypeArgument& dtype);

}  // namespace kiln
