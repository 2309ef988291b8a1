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
  return api_call("round", x.where(), [&] {
    const Value value = number_of(x);
    return wrap(is_float(value.dtype()) ? ir::unary(Op::Round, value) : value);
  });
}

Tensor sign(const Operand& x) { return unary_number("sign", Op::Sign, x); }
Tensor sin(const Operand& x) { return unary_floating("sin", Op::Sin, x); }
Tensor cos(const Operand& x) { return unary_floating("cos", Op::Cos, x); }

Tensor pow(const Operand& x, const Operand& a) {
  return api_call("pow", where_of(x, a), [&] {
    const auto [base, exponent] = broadcast_numbers(x, a, {"x", "a"});
    return wrap(ir::binary(Op::Pow, base, exponent));
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

Tensor maximum(const Operand& x, const Operand& y) { return minmax("maximum", Op::Maximum, x, y); }
Tensor minimum(const Operand& x, const Operand& y) { return minmax("minimum", Op::Minimum, x, y); }

}  // namespace kiln
