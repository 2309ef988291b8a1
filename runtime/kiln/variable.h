// Variables: tensors with state, their creation (group B of the K functions) and their values
// (group I). variable() of a tensor is in kiln/function.h, beside eval. A value lives as long as
// any handle, graph or function reaches its variable.
#pragma once

#include <kiln/array.h>
#include <kiln/constraint.h>
#include <kiln/sparse_array.h>
#include <kiln/update.h>

#include <utility>

namespace kiln {

/// A tensor with state. Copies share the state.
class KILN_API Variable : public Tensor {
 public:
  Variable() = default;
  /// TypeError when `tensor` is not a variable.
  explicit Variable(const Tensor& tensor, Where where = Where::here());
  /// The constraint given at creation; empty when none was. ValueError for an empty variable.
  const Constraint& constraint(Where where = Where::here()) const;
};

struct VariableOptions {
  DTypeArgument dtype = {};  ///< unset: floatx(), whatever the value's dtype
  std::string name = {};
  Constraint constraint = {};
};

struct CreateOptions {
  DTypeArgument dtype = {};  ///< unset: floatx()
  std::string name = {};
};

struct ConstantOptions {
  DTypeArgument dtype = {};        ///< unset: floatx()
  Shape shape = Shape::unset();    ///< a scalar fills it; an array of as many elements is reshaped
  std::string name = {};
};

struct RandomVariableOptions {
  DTypeArgument dtype = {};  ///< unset: floatx()
  std::string name = {};
  std::optional<std::int64_t> seed = {};  ///< unset: drawn from the process-wide generator
};

/// A variable whose value is `value` cast to `dtype` as NumPy's astype does, of its shape. Every
/// dtype. Errors: TypeError for an unknown dtype name; ValueError naming index and value for NaN,
/// an infinity or a number out of range where dtype is an integer's.
///     const auto weights = K::variable({{1., 2.}}, {.name = "weights"});
///     weights;  // weights float32[1,2]
KILN_API Variable variable(const Array& value, const VariableOptions& options = {},
                           Where where = Where::here());
/// A sparse tensor of constants, as TensorFlow's backend makes one of a SciPy matrix: it cannot be
/// updated. Errors: TypeError for an unknown dtype name.
///     const auto x = K::variable(K::SparseArray::of_dense(K::Array{{0.f, 3.f}}));
///     K::eval(x);  // [[0. 3.]]
KILN_API Tensor variable(const SparseArray& value, const VariableOptions& options = {},
                         Where where = Where::here());

/// A constant tensor of any dtype, cast as variable() casts. Errors: ValueError when shape has
/// another number of elements than value, which is no scalar, and for what dtype cannot hold;
/// TypeError for an unknown dtype name.
///     const auto x = K::constant(3, {.dtype = "int32", .shape = {2}});
///     K::eval(x);  // [3 3]
KILN_API Tensor constant(const Array& value, const ConstantOptions& options = {},
                         Where where = Where::here());

/// A variable of zeros (ones) of that shape; a plain tensor when the shape holds tensors.
/// Errors: ValueError for None or a negative size.
///     const auto weights = K::zeros({2}), gains = K::ones({2}, {.dtype = "int64"});
///     K::get_value(weights);  // [0. 0.]
///     K::get_value(gains);  // [1 1]
KILN_API Tensor zeros(const Shape& shape, const CreateOptions& options = {},
                      Where where = Where::here());
KILN_API Tensor ones(const Shape& shape, const CreateOptions& options = {},
                     Where where = Where::here());
/// A variable with ones on the diagonal: (size, size), or (rows, columns).
///     const auto x = K::eye(2);
///     K::get_value(x);  // [[1. 0.] [0. 1.]]
KILN_API Variable eye(std::int64_t size, const CreateOptions& options = {},
                      Where where = Where::here());
KILN_API Variable eye(std::pair<std::int64_t, std::int64_t> size,
                      const CreateOptions& options = {}, Where where = Where::here());

/// A variable drawn once from U[low, high). Errors: ValueError unless low <= high.
///     const auto x = K::random_uniform_variable({2, 3}, -1, 1);
///     K::eval(K::all(K::abs(x) <= 1));  // True
KILN_API Variable random_uniform_variable(const Shape& shape, double low, double high,
                                          const RandomVariableOptions& options = {},
                                          Where where = Where::here());
/// A variable drawn once from N(mean, scale^2).
///     const auto x = K::random_normal_variable({2}, 5, 0);
///     K::get_value(x);  // [5. 5.]
KILN_API Variable random_normal_variable(const Shape& shape, double mean, double scale,
                                         const RandomVariableOptions& options = {},
                                         Where where = Where::here());

/// The value of a variable. Errors: TypeError for any other tensor.
///     const auto x = K::variable({1., 2.});
///     K::get_value(x);  // [1. 2.]
KILN_API Array get_value(const Tensor& x, Where where = Where::here());
/// Values of several variables, all of the same moment; of none for an empty list. Errors: as for
/// get_value.
///     const auto x = K::zeros({2}), y = K::ones({1});
///     K::batch_get_value({x, y})[1];  // [1.]
KILN_API std::vector<Array> batch_get_value(const std::vector<Tensor>& xs,
                                            Where where = Where::here());
/// Sets a variable to `value` cast to its dtype as NumPy's astype does. Errors: ValueError for
/// another shape, and naming index and value for NaN, an infinity or a number out of range where
/// the dtype is an integer's; TypeError when x is no variable.
///     const auto x = K::zeros({2});
///     K::set_value(x, {1, 2});
///     K::get_value(x);  // [1. 2.]
KILN_API void set_value(const Tensor& x, const Array& value, Where where = Where::here());
/// Sets several variables together: all or, on an error, none. A scalar fills any shape. Of one
/// variable given twice the last value counts. Errors: as for set_value.
///     const auto x = K::zeros({2}), y = K::zeros({1});
///     K::batch_set_value({{x, K::Array{1.f, 2.f}}, {y, K::Array(3)}});
///     K::batch_get_value({x, y});  // {[1. 2.], [3.]}
KILN_API void batch_set_value(const std::vector<std::pair<Tensor, Array>>& tuples,
                              Where where = Where::here());
/// The shape of a variable. Errors: TypeError when x is no variable.
///     const auto x = K::zeros({2, 3});
///     K::get_variable_shape(x);  // {2, 3}
KILN_API std::vector<std::int64_t> get_variable_shape(const Tensor& x, Where where = Where::here());

/// x := new_x, where new_x is a host array cast to x's dtype. Errors: ValueError for another shape
/// and for what x's dtype cannot hold; TypeError when x is no variable.
///     const auto x = K::zeros({2});
///     K::eval(K::update(x, K::Array{1.f, 2.f}));  // [1. 2.]
KILN_API UpdateOp update(const Tensor& x, const Array& new_x, Where where = Where::here());

}  // namespace kiln
