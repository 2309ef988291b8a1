// Making and inspecting symbolic tensors: the part of group B that needs no values.
#pragma once

#include <kiln/tensor.h>

#include <optional>
#include <string>
#include <vector>

namespace kiln {

struct PlaceholderOptions {
  Shape shape = Shape::unset();   ///< wins over ndim; {} is a scalar
  std::optional<int> ndim = {};   ///< a rank whose dims are all unknown
  DTypeArgument dtype = {};       ///< unset: floatx()
  bool sparse = false;            ///< a matrix that is fed by its elements (kiln/sparse.h)
  std::string name = {};
};

/// An argument of a compiled function. Each None is an unknown size of its own.
/// Errors: ValueError when neither shape nor ndim is given, a size is negative, or a sparse one has
/// another rank than 2.
///     const auto x = K::placeholder({.shape = {K::None, 784}, .name = "x"});
///     x;  // x float32[None,784]
KILN_API Tensor placeholder(const PlaceholderOptions& options, Where where = Where::here());

/// Whether x is a placeholder; never throws.
///     const auto x = K::placeholder({.ndim = 2});
///     K::is_placeholder(x);  // true
KILN_API bool is_placeholder(const Tensor& x);

/// Whether x is a tensor and not a number: true for variables and placeholders, too; false for an
/// empty tensor. Never throws.
///     const auto x = K::zeros({2});
///     K::is_tensor(x) && !K::is_tensor(3);  // true
KILN_API bool is_tensor(const Operand& x);

/// Whether x is a variable; never throws.
///     const auto x = K::zeros({2});
///     K::is_variable(x) && !K::is_variable(x + 1);  // true
KILN_API bool is_variable(const Tensor& x);

/// Whether x was made by a Keras layer or Input: false for every tensor of this library.
/// Errors: ValueError for an empty tensor.
///     const auto x = K::placeholder({.ndim = 2});
///     K::is_keras_tensor(x);  // false
KILN_API bool is_keras_tensor(const Tensor& x, Where where = Where::here());

/// The shape of x, of any dtype, dense or sparse, as an int64 vector; its entries can be used
/// wherever a size is expected. Errors: ValueError for an empty tensor.
///     const auto x = K::placeholder({.shape = {K::None, 3}});
///     K::function({x}, {K::shape(x)})({K::Array::zeros({2, 3})})[0];  // [2 3]
KILN_API Tensor shape(const Operand& x);

/// The sizes of x, nothing where they are unknown. Errors: ValueError for an empty tensor.
///     const auto x = K::placeholder({.shape = {K::None, 3}});
///     K::int_shape(x);  // {None, 3}
KILN_API std::vector<std::optional<std::int64_t>> int_shape(const Tensor& x,
                                                            Where where = Where::here());
/// The number of axes of x. Errors: ValueError for an empty tensor.
///     const auto x = K::placeholder({.shape = {K::None, 3}});
///     K::ndim(x);  // 2
KILN_API int ndim(const Tensor& x, Where where = Where::here());
/// The name of the dtype: "float32". Errors: ValueError for an empty tensor.
///     const auto x = K::constant({1, 2});
///     K::dtype(x > 0);  // bool
KILN_API std::string dtype(const Tensor& x, Where where = Where::here());

struct LikeOptions {
  DTypeArgument dtype = {};  ///< unset: the dtype of x (Keras' documentation, up to 2.2.4)
  std::string name = {};
};
/// A tensor of zeros (ones) with the shape that x, of any dtype, has at run time. No gradient.
/// Errors: ValueError for an empty tensor; TypeError for an unknown dtype name.
///     const auto x = K::constant({3., 4.});
///     K::eval(K::zeros_like(x));  // [0. 0.]
///     K::eval(K::ones_like(x));  // [1. 1.]
KILN_API Tensor zeros_like(const Operand& x, const LikeOptions& options = {});
KILN_API Tensor ones_like(const Operand& x, const LikeOptions& options = {});

/// A tensor equal to x, and a node of its own: `gradients` with respect to it works.
///     const auto x = K::constant({3., 4.}), y = K::identity(x);
///     K::same_node(x, y);  // false
KILN_API Tensor identity(const Operand& x, const NameOptions& options = {});

/// The product of the sizes of x, 1 for a scalar. Errors: ValueError when one is unknown.
///     const auto weights = K::zeros({784, 10});
///     K::count_params(weights);  // 7840
KILN_API std::int64_t count_params(const Tensor& x, Where where = Where::here());

/// x converted: floating point to integer truncates toward zero (saturating, NaN gives 0), to bool
/// is x != 0, bool to number is 0 or 1. Errors: TypeError for an unknown dtype name.
///     const auto x = K::constant({-1.5, 1.5});
///     K::eval(K::cast(x, "int32"));  // [-1 1]
KILN_API Tensor cast(const Operand& x, const DTypeArgument& dtype);

}  // namespace kiln
