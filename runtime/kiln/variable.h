// Variables: tensors with state, their creation, and reading and setting their values. variable()
// of a tensor is in kiln/function.h, beside eval. A value lives as long as a handle, graph or
// function refers to its variable. All functions are thread-safe; reads wait for a call that
// overwrites the variable, writes for a call that updates it.
#pragma once

#include <kiln/array.h>
#include <kiln/constraint.h>
#include <kiln/results.h>
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
  /// Returns the constraint given at creation, or an empty one. ValueError for an empty variable.
  const Constraint& constraint(Where where = Where::here()) const&;
  Constraint constraint(Where where = Where::here()) const&& { return constraint(where); }
};

struct VariableOptions {
  DTypeArgument dtype = {};  ///< unset: floatx(), regardless of the value's dtype
  StringArgument name = {};
  Constraint constraint = {};
  /// Whether the variable may differ between the ranks of kiln/distributed.h, as a counter of rows
  /// does; updates keep others equal.
  bool per_rank = false;
};

struct CreateOptions {
  DTypeArgument dtype = {};  ///< unset: floatx()
  StringArgument name = {};
};

struct ConstantOptions {
  DTypeArgument dtype = {};  ///< unset: floatx()
  Shape shape = Shape::unset();  ///< filled with a scalar; any other value is reshaped to it
  StringArgument name = {};
};

struct RandomVariableOptions {
  DTypeArgument dtype = {};  ///< unset: floatx()
  StringArgument name = {};
  std::optional<Seed> seed = {};  ///< unset: drawn from the process-wide generator
};

/// Creates a variable of any dtype with the shape of `value`, cast to `dtype` as by NumPy's astype.
/// Errors: TypeError for an unknown dtype name; for an integer dtype, ValueError naming index and
/// value of a NaN, an infinity or a number out of range.
///     const auto weights = K::variable({{1., 2.}}, {.name = "weights"});
///     weights;  // weights float32[1,2]
[[nodiscard]] KILN_API Variable variable(const Array& value, const VariableOptions& options = {},
                                         Where where = Where::here());
/// Creates a sparse constant tensor, as Keras' TensorFlow backend does for a SciPy matrix: it
/// cannot be updated. Errors: TypeError for an unknown dtype name.
///     const auto x = K::variable(K::SparseArray::of_dense(K::Array{{0.f, 3.f}}));
///     K::eval(x);  // [[0. 3.]]
KILN_API Tensor variable(const SparseArray& value, const VariableOptions& options = {},
                         Where where = Where::here());

/// Creates a constant tensor of any dtype, cast as by variable(). Errors: ValueError unless `value`
/// has one element or as many as `shape`, and for values that an integer dtype cannot represent;
/// TypeError for an unknown dtype name.
///     const auto x = K::constant(3, {.dtype = "int32", .shape = {2}});
///     K::eval(x);  // [3 3]
KILN_API Tensor constant(const Array& value, const ConstantOptions& options = {},
                         Where where = Where::here());

/// Creates a variable of that shape filled with 0; a tensor, not a variable, if the shape contains
/// tensors. Errors: ValueError for None or a negative size.
///     const auto x = K::zeros({2});
///     K::get_value(x);  // [0. 0.]
KILN_API Tensor zeros(const Shape& shape, const CreateOptions& options = {},
                      Where where = Where::here());
/// Creates a variable of that shape filled with 1; a tensor, not a variable, if the shape contains
/// tensors. Errors: ValueError for None or a negative size.
///     const auto x = K::ones({2}, {.dtype = "int64"});
///     K::get_value(x);  // [1 1]
KILN_API Tensor ones(const Shape& shape, const CreateOptions& options = {},
                     Where where = Where::here());
/// Creates a variable with ones on the diagonal and zeros elsewhere, of shape (size, size) or
/// (rows, columns). Errors: ValueError for a negative size.
///     const auto x = K::eye(2);
///     K::get_value(x);  // [[1. 0.] [0. 1.]]
[[nodiscard]] KILN_API Variable eye(WholeNumber size, const CreateOptions& options = {},
                                    Where where = Where::here());
[[nodiscard]] KILN_API Variable eye(std::pair<WholeNumber, WholeNumber> size,
                                    const CreateOptions& options = {}, Where where = Where::here());

/// Creates a variable of a floating dtype with values drawn once from U[low, high). Errors:
/// ValueError unless low <= high, and for bounds that are not finite in the dtype or have no finite
/// difference; TypeError for another dtype.
///     const auto x = K::random_uniform_variable({2, 3}, -1, 1);
///     K::eval(K::all(K::abs(x) <= 1));  // True
[[nodiscard]] KILN_API Variable random_uniform_variable(const Shape& shape, double low, double high,
                                                        const RandomVariableOptions& options = {},
                                                        Where where = Where::here());
/// Creates a variable of a floating dtype with values drawn once from the normal distribution with
/// that mean and standard deviation `scale`. Errors: TypeError for another dtype.
///     const auto x = K::random_normal_variable({2}, 5, 0);
///     K::get_value(x);  // [5. 5.]
[[nodiscard]] KILN_API Variable random_normal_variable(const Shape& shape, double mean,
                                                       double scale,
                                                       const RandomVariableOptions& options = {},
                                                       Where where = Where::here());

/// Returns the value of a variable, copied from its backend if needed. Errors: TypeError for any
/// other tensor; BackendError, OutOfMemory.
///     const auto x = K::variable({1., 2.});
///     K::get_value(x);  // [1. 2.]
[[nodiscard]] KILN_API Array get_value(const Tensor& x, Where where = Where::here());
/// Returns the values of several variables from one snapshot; an empty list for none. Errors: as
/// for get_value.
///     const auto x = K::zeros({2}), y = K::ones({1});
///     K::batch_get_value({x, y})[1];  // [1.]
[[nodiscard]] KILN_API Results<Array> batch_get_value(const std::vector<Tensor>& xs,
                                                      Where where = Where::here());
/// Sets a variable to `value`, cast to its dtype as by NumPy's astype. Errors: ValueError for
/// another shape; for an integer dtype, ValueError naming index and value of a NaN, an infinity or
/// a number out of range; TypeError if x is not a variable.
///     const auto x = K::zeros({2});
///     K::set_value(x, {1, 2});
///     K::get_value(x);  // [1. 2.]
KILN_API void set_value(const Tensor& x, const Array& value, Where where = Where::here());
/// Sets several variables atomically: all, or none on an error. A scalar fills any shape. If a
/// variable occurs twice, the last value wins. Errors: as for set_value.
///     const auto x = K::zeros({2}), y = K::zeros({1});
///     K::batch_set_value({{x, K::Array{1.f, 2.f}}, {y, K::Array(3)}});
///     K::batch_get_value({x, y});  // {[1. 2.], [3.]}
KILN_API void batch_set_value(const std::vector<std::pair<Tensor, Array>>& tuples,
                              Where where = Where::here());
/// Returns the shape of a variable. Errors: TypeError if x is not a variable.
///     const auto x = K::zeros({2, 3});
///     K::get_variable_shape(x);  // {2, 3}
[[nodiscard]] KILN_API std::vector<std::int64_t> get_variable_shape(const Tensor& x,
                                                                    Where where = Where::here());

/// Builds the update x := new_x of a host array, cast to x's dtype. Errors: ValueError for another
/// shape and for values that x's integer dtype cannot represent; TypeError if x is not a variable.
///     const auto x = K::zeros({2});
///     K::eval(K::update(x, K::Array{1.f, 2.f}));  // [1. 2.]
KILN_API UpdateOp update(const Tensor& x, const Array& new_x, Where where = Where::here());

}  // namespace kiln
