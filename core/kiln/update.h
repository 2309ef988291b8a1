// Updates of variables: group C of the K functions. An update is no node: it belongs to the
// function that it is given to, which computes it from the state before the call.
#pragma once

#include <kiln/tensor.h>

namespace kiln {

/// `variable` gets `value` when the function it is given to has succeeded. Made by update() and
/// its kin, or from a pair {variable, tensor}. Executed by K::eval, too.
struct UpdateOp {
  UpdateOp() = default;
  UpdateOp(Tensor variable, Tensor value, Where where = Where::here())
      : variable(std::move(variable)), value(std::move(value)), where(where) {}

  Tensor variable;
  Tensor value;
  Where where;
};

/// Assignment x := new_x. `new_x` is a tensor of x's dtype and shape, or a number.
/// Errors: TypeError when x is not a variable or the dtypes differ; ValueError for other shapes.
///     const auto x = K::variable({1., 2.});
///     K::eval(K::update(x, 3 * x));  // [3. 6.]
KILN_API UpdateOp update(const Tensor& x, const Operand& new_x, Where where = Where::here());
template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
UpdateOp update(const Tensor& x, Number new_x, Where where = Where::here()) {
  return update(x, Operand(new_x, where), where);
}
/// x := x + increment (broadcast to x's shape), numbers of any dtype. Errors: TypeError when x is
/// no variable, is bool, or the dtypes differ; ValueError for a shape that does not fit.
///     const auto x = K::variable({1., 2.});
///     K::eval(K::update_add(x, 1));  // [2. 3.]
KILN_API UpdateOp update_add(const Tensor& x, const Operand& increment,
                             Where where = Where::here());
/// x := x - decrement (broadcast to x's shape). Errors: as for update_add.
///     const auto x = K::variable({1., 2.});
///     K::eval(K::update_sub(x, 1));  // [0. 1.]
KILN_API UpdateOp update_sub(const Tensor& x, const Operand& decrement,
                             Where where = Where::here());
/// variable := variable * momentum + value * (1 - momentum), `value` cast to the variable's dtype.
/// No bias correction. `momentum` is a number or a tensor of the variable's dtype. Formula: Keras
/// 2.3.1. Errors: as for update_add; TypeError for a momentum that an integer variable cannot hold.
///     const auto x = K::variable({1., 2.});
///     K::eval(K::moving_average_update(x, K::constant({3., 4.}), 0.5));  // [2. 3.]
KILN_API UpdateOp moving_average_update(const Tensor& variable, const Operand& value,
                                        const Operand& momentum, Where where = Where::here());

}  // namespace kiln
