// Elementwise functions: bring the operands to one dtype and shape (tensor_impl.h), then apply one
// op.
#include <kiln/elementwise.h>

#include "core/k/math/formulas_impl.h"

namespace kiln {
namespace {

using ir::Op;
using ir::Value;

Tensor unary_floating(const char* function, Op op, const Operand& x) {
  return api_call(function, x.where(), [&] { return wrap(ir::unary(op, float_of(x))); });
}

Tensor unary_number(const char* function, Op op, const Operand& x) {
  return api_call(function, x.where(), [&] { return wrap(ir::unary(op, number_of(x))); });
}

Tensor comparison(const char* function, Op op, const Operand& x, const Operand& y) {
  return api_call(function, where_of(x, y), [&] {
    const auto [a, b] = broadcast_operands(x, y);
    return wrap(ir::binary(op, a, b));
  });
}

Tensor minmax(const char* function, Op op, const Operand& x, const Operand& y) {
  return api_call(function, where_of(x, y), [&] {
    const auto [a, b] = broadcast_numbers(x, y);
    return wrap(ir::binary(op, a, b));
  });
}

/// An operand of a logical function. TypeError unless it is bool.
Value bool_of(const Operand& operand, const char* argument) {
  const Value value = value_of(operand, DType::Bool, argument);
  if (value.dtype() == DType::Bool) return value;
  Call::type_error(argument,
                   text(argument, " is not bool; not_equal(", argument,
                        ", 0) tells where it is not 0 (", argument, " ", value.type(), ")"));
}

std::pair<Value, Value> broadcast_bools(const Operand& x, const Operand& y) {
  return broadcast_values(bool_of(x, "x"), bool_of(y, "y"));
}

Tensor logical(const char* function, Op op, const Operand& x, const Operand& y) {
  return api_call(function, where_of(x, y), [&] {
    const auto [a, b] = broadcast_bools(x, y);
    return wrap(ir::binary(op, a, b));
  });
}

/// Rounds floats with `round`; integers are whole already.
template <class Round>
Tensor rounded(const char* function, const Operand& x, const Round& round) {
  return api_call(function, x.where(), [&] {
    const Value value = number_of(x);
    return wrap(is_float(value.dtype()) ? round(value) : value);
  });
}

/// The remainder with the sign of y, from the one with the sign of x. A zero has the sign of y.
Value floored_mod(const Value& x, const Value& y) {
  const Value remainder = ir::binary(Op::Mod, x, y);
  if (info(y.dtype()).kind == DTypeKind::Unsigned) return remainder;
  const Value zero = ir::zeros_like(y);
  const Value is_negative = ir::less(y, zero);
  const Value differs =
      ir::select(is_negative, ir::less(zero, remainder), ir::less(remainder, zero));
  if (!is_float(y.dtype())) return ir::select(differs, remainder + y, remainder);
  // Maximum and Minimum change the sign of a zero alone, and pass the gradient on.
  const Value signed_zero =
      ir::select(is_negative, ir::binary(Op::Minimum, remainder, ir::like(y, -0.0)),
                 ir::binary(Op::Maximum, remainder, zero));
  return ir::select(differs, remainder + y, signed_zero);
}

/// Applies one bound of clip.
Value bounded(Op op, const Value& x, const OptionalOperand& bound, const char* argument) {
  const Value limit = value_of(bound.value(), x.dtype(), argument);
  const auto [a, b] = broadcast_values(x, limit, {"x", argument});
  return ir::binary(op, a, b);
}

bool is_number(const OptionalOperand& bound) {
  return !bound.is_none() && !bound.value().is_tensor();
}

}  // namespace

Tensor square(const Operand& x) {
  return api_call("square", x.where(), [&] {
    const Value value = number_of(x);
    return wrap(value * value);
  });
}

Tensor abs(const Operand& x) { return unary_number("abs", Op::Abs, x); }

Tensor sqrt(const Operand& x) {
  return api_call("sqrt", x.where(), [&] { return wrap(sqrt_or_zero(float_of(x))); });
}

Tensor exp(const Operand& x) { return unary_floating("exp", Op::Exp, x); }
Tensor log(const Operand& x) { return unary_floating("log", Op::Log, x); }

Tensor round(const Operand& x) {
  return rounded("round", x, [](const Value& value) { return ir::unary(Op::Round, value); });
}
Tensor floor(const Operand& x) {
  return rounded("floor", x, [](const Value& value) { return ir::unary(Op::Floor, value); });
}
Tensor ceil(const Operand& x) {
  return rounded("ceil", x, [](const Value& value) { return -ir::unary(Op::Floor, -value); });
}

Tensor sign(const Operand& x) { return unary_number("sign", Op::Sign, x); }
Tensor sin(const Operand& x) { return unary_floating("sin", Op::Sin, x); }
Tensor cos(const Operand& x) { return unary_floating("cos", Op::Cos, x); }
Tensor erf(const Operand& x) { return unary_floating("erf", Op::Erf, x); }

Tensor pow(const Operand& x, const Operand& a) {
  return api_call("pow", where_of(x, a), [&] {
    const auto [base, exponent] = broadcast_numbers(x, a, {"x", "a"});
    return wrap(ir::binary(Op::Pow, base, exponent));
  });
}

Tensor mod(const Operand& x, const Operand& y) {
  return api_call("mod", where_of(x, y), [&] {
    const auto [a, b] = broadcast_numbers(x, y);
    return wrap(floored_mod(a, b));
  });
}

Tensor clip(const Operand& x, const OptionalOperand& min_value, const OptionalOperand& max_value) {
  return api_call("clip", x.where(), [&] {
    Value value = number_of(x);
    // If max_value < min_value, both bounds are min_value, also for the gradient.
    const bool reversed = is_number(min_value) && is_number(max_value) &&
                          max_value.value().floating() < min_value.value().floating();
    if (reversed) value_of(max_value.value(), value.dtype(), "max_value");
    const OptionalOperand& highest = reversed ? min_value : max_value;
    if (!highest.is_none()) value = bounded(Op::Minimum, value, highest, "max_value");
    if (!min_value.is_none()) value = bounded(Op::Maximum, value, min_value, "min_value");
    return wrap(value);
  });
}

Tensor equal(const Operand& x, const Operand& y) { return comparison("equal", Op::Equal, x, y); }

Tensor not_equal(const Operand& x, const Operand& y) {
  return api_call("not_equal", where_of(x, y), [&] {
    const auto [a, b] = broadcast_operands(x, y);
    return wrap(ir::logical_not(ir::equal_to(a, b)));
  });
}

Tensor greater(const Operand& x, const Operand& y) {
  return api_call("greater", where_of(x, y), [&] {
    const auto [a, b] = broadcast_operands(x, y);
    return wrap(ir::less(b, a));
  });
}

Tensor greater_equal(const Operand& x, const Operand& y) {
  return api_call("greater_equal", where_of(x, y), [&] {
    const auto [a, b] = broadcast_operands(x, y);
    return wrap(ir::less_equal_to(b, a));
  });
}

Tensor less(const Operand& x, const Operand& y) { return comparison("less", Op::Less, x, y); }

Tensor less_equal(const Operand& x, const Operand& y) {
  return comparison("less_equal", Op::LessEqual, x, y);
}

Tensor logical_and(const Operand& x, const Operand& y) {
  return logical("logical_and", Op::And, x, y);
}
Tensor logical_or(const Operand& x, const Operand& y) {
  return logical("logical_or", Op::Or, x, y);
}

Tensor logical_xor(const Operand& x, const Operand& y) {
  return api_call("logical_xor", where_of(x, y), [&] {
    const auto [a, b] = broadcast_bools(x, y);
    return wrap(ir::logical_not(ir::equal_to(a, b)));
  });
}

Tensor logical_not(const Operand& x) {
  return api_call("logical_not", x.where(), [&] { return wrap(ir::logical_not(bool_of(x, "x"))); });
}

Tensor where(const Operand& condition, const Operand& x, const Operand& y) {
  return api_call("where", condition.where().known() ? condition.where() : where_of(x, y), [&] {
    const Value chosen = bool_of(condition, "condition");
    const auto [a, b] = broadcast_operands(x, y);
    const PairNames names{"condition", "x and y"};
    const ir::Dims dims = broadcast_dims(chosen.type(), a.type(), names);
    return wrap(ir::select(ir::broadcast_to(chosen, dims), ir::broadcast_to(a, dims),
                           ir::broadcast_to(b, dims)));
  });
}

Tensor maximum(const Operand& x, const Operand& y) { return minmax("maximum", Op::Maximum, x, y); }
Tensor minimum(const Operand& x, const Operand& y) { return minmax("minimum", Op::Minimum, x, y); }

}  // namespace kiln
