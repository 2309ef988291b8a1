// Variables: tensors with state, their creation (group B of the K functions) and their values
// (group I). A value lives as long as any handle, graph or function reaches its variable.
#pragma once

#include <kiln/array.h>
#include <kiln/update.h>

#include <functional>
#include <utility>

namespace kiln {

/// A function of a new value that an optimiser applies when it builds an update; only stored.
using Constraint = std::function<Tensor(const Tensor&)>;

/// A tensor with state. Copies share the state.
class KILN_API Variable : public Tensor {
 public:
  Variable() = default;
  /// TypeError when `tensor` is not a variable.
  explicit Variable(const Tensor& tensor, Where where = Where::here());
  /// The constraint given at creation; empty when none was.
  const Constraint& constraint() const;
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

/// A variable whose value is `value` cast to `dtype`.
/// Errors: TypeError for an unknown dtype name.
KILN_API Variable variable(const Array& value, const VariableOptions& options = {},
                           Where where = Where::here());
/// The same; the tensor is evaluated now and may not depend on placeholders.
KILN_API Variable variable(const Tensor& value, const VariableOptions& options = {},
                           Where where = Where::here());

/// A constant tensor. Errors: ValueError when shape has another number of elements than value.
KILN_API Tensor constant(const Array& value, const ConstantOptions& options = {},
                         Where where = Where::here());

/// A variable of zeros (ones) of that shape; a plain tensor when the shape holds tensors.
/// Errors: ValueError for None or a negative size.
KILN_API Tensor zeros(const Shape& shape, const CreateOptions& options = {},
                      Where where = Where::here());
KILN_API Tensor ones(const Shape& shape, const CreateOptions& options = {},
                     Where where = Where::here());
/// A variable with ones on the diagonal: (size, size), or (rows, columns).
KILN_API Variable eye(std::int64_t size, const CreateOptions& options = {},
                      Where where = Where::here());
KILN_API Variable eye(std::pair<std::int64_t, std::int64_t> size,
                      const CreateOptions& options = {}, Where where = Where::here());

/// A variable drawn once from U[low, high).
KILN_API Variable random_uniform_variable(const Shape& shape, double low, double high,
                                          const RandomVariableOptions& options = {},
                                          Where where = Where::here());
/// A variable drawn once from N(mean, scale^2).
KILN_API Variable random_normal_variable(const Shape& shape, double mean, double scale,
                                         const RandomVariableOptions& options = {},
                                         Where where = Where::here());

/// The value of a variable. Errors: TypeError for any other tensor.
KILN_API Array get_value(const Tensor& x, Where where = Where::here());
/// Values of several variables, all of the same moment.
KILN_API std::vector<Array> batch_get_value(const std::vector<Tensor>& xs,
                                            Where where = Where::here());
/// Sets a variable to `value` cast to its dtype. Errors: ValueError for another shape.
KILN_API void set_value(const Tensor& x, const Array& value, Where where = Where::here());
/// Sets several variables together: all or, on an error, none. A scalar fills any shape.
KILN_API void batch_set_value(const std::vector<std::pair<Tensor, Array>>& tuples,
                              Where where = Where::here());
/// The shape of a variable.
KILN_API std::vector<std::int64_t> get_variable_shape(const Tensor& x, Where where = Where::here());

/// x := value, where value is a host array cast to x's dtype.
KILN_API UpdateOp update(const Tensor& x, const Array& new_x, Where where = Where::here());

}  // namespace kiln
