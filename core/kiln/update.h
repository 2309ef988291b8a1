// Updates of variables. An update is not a node of the graph: it belongs to the function that it is
// passed to, which computes the new value from the state before the call.
#pragma once

#include <kiln/tensor.h>

namespace kiln {

/// Assigns `value` to `variable` after a call of its function has succeeded. Created by update()
/// and the functions below, or from a pair {variable, tensor}. Does nothing by itself: pass it to
/// `function` in `.updates`, or to K::eval, which executes it.
struct [[nodiscard]] UpdateOp {
  UpdateOp() = default;
  [[nodiscard]] UpdateOp(Tensor variable, Tensor value, Where where = Where::here())
      : variable(std::move(variable)), value(std::move(value)), where(where) {}

  Tensor variable;
  Tensor value;
  Where where;
};

/// Returns the update x := new_x. new_x: a tensor with the dtype and shape of x, or a number.
/// Errors: TypeError if x is not a variable or dtypes differ; ValueError for another shape.
///     const auto x = K::variable({1., 2.});
///     K::eval(K::update(x, 3 * x));  // [3. 6.]
KILN_API UpdateOp update(const Tensor& x, const Operand& new_x, Where where = Where::here());
template <class Number, std::enable_if_t<is_operand_number_v<Number>, int> = 0>
UpdateOp update(const Tensor& x, Number new_x, Where where = Where::here()) {
  return update(x, Operand(new_x, where), where);
}
/// Returns the update x := x + increment. x: numbers of any dtype; increment broadcasts to the
/// shape of x.
/// Errors: TypeError if x is not a variable or is bool, or dtypes differ; ValueError for a shape
/// that does not broadcast.
///     const auto x = K::variable({1., 2.});
///     K::eval(K::update_add(x, 1));  // [2. 3.]
KILN_API UpdateOp update_add(const Tensor& x, const Operand& increment,
                             Where where = Where::here());
/// Returns the update x := x - decrement. Otherwise as update_add. Errors: those of update_add.
///     const auto x = K::variable({1., 2.});
///     K::eval(K::update_sub(x, 1));  // [0. 1.]
KILN_API UpdateOp update_sub(const Tensor& x, const Operand& decrement,
                             Where where = Where::here());
/// Returns the update x[index] := value, of one entry of axis 0; the others are kept. index: an
/// integer scalar, not negative. value: a tensor of the dtype of x that broadcasts to the shape of
/// the entry, or a number. It is exact, and reads and writes the whole variable. Kiln's own.
/// Errors: TypeError if x is not a variable, dtypes differ or index is not an integer; ValueError
/// for a scalar x, an index that is not a scalar or is out of range (at the call), or a shape that
/// does not broadcast.
///     const auto x = K::variable({{1., 2.}, {3., 4.}});
///     K::eval(K::update_row(x, 1, 0));  // [[1. 2.] [0. 0.]]
KILN_API UpdateOp update_row(const Tensor& x, const Operand& index, const Operand& value,
                             Where where = Where::here());
/// Returns the update variable := variable * momentum + value * (1 - momentum), without bias
/// correction. value is cast to the dtype of the variable; momentum is a number or a tensor of that
/// dtype. Formula: Keras 2.3.1.
/// Errors: those of update_add; TypeError for a floating-point momentum and an integer variable.
///     const auto x = K::variable({1., 2.});
///     K::eval(K::moving_average_update(x, K::constant({3., 4.}), 0.5));  // [2. 3.]
KILN_API UpdateOp moving_average_update(const Tensor& variable, const Operand& value,
                                        const Operand& momentum, Where where = Where::here());

}  // namespace kiln
