// Imports elementwise operators: arithmetic, comparisons, logic, functions of one operand.
#include "core/k/math/formulas_impl.h"
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"
#include "core/onnx/import/operands.h"

#include <kiln/elementwise.h>

#include <cmath>
#include <limits>

namespace kiln::onnx {
namespace {

using ir::Op;
using ir::Value;
using Values = std::vector<Value>;

template <Op op>
Values binary(NodeContext& node) {
  const auto [x, y] = broadcast_inputs(node);
  return {ir::binary(op, x, y)};
}

/// `Operand` functions of K on both inputs, broadcast.
template <Tensor (*function)(const Operand&, const Operand&)>
Values k_binary(NodeContext& node) {
  const auto [x, y] = broadcast_inputs(node);
  return {value_of(function(wrap(x), wrap(y)), "x")};
}

/// Left to right over any number of operands.
template <Op op>
Values variadic(NodeContext& node) {
  Value result = node.input(0);
  for (std::size_t i = 1; i < node.input_count(); ++i) {
    const auto [x, y] = broadcast_values(result, node.input(i));
    result = ir::binary(op, x, y);
  }
  return {result};
}

Values import_mean(NodeContext& node) {
  return {variadic<Op::Add>(node)[0] / static_cast<double>(node.input_count())};
}

/// The result has the dtype of the base; the exponent may have another one.
Values import_pow(NodeContext& node) {
  Value x = node.input(0), y = node.input(1);
  const DType dtype = x.dtype();
  if (x.dtype() != y.dtype()) {
    const bool is_wide = is_float(y.dtype()) && !is_float(dtype);
    if (is_wide) x = ir::cast(x, DType::Float64);
    y = ir::cast(y, x.dtype());
  }
  const auto [base, exponent] = broadcast_with_axis(node, x, y);
  return {ir::cast(ir::binary(Op::Pow, base, exponent), dtype)};
}

/// With the sign of the divisor, as Python's %, or with fmod = 1 that of the dividend.
Values import_mod(NodeContext& node) {
  const auto [x, y] = broadcast_inputs(node);
  const Value remainder = ir::binary(Op::Mod, x, y);
  if (node.integer("fmod", 0) != 0 || info(x.dtype()).kind == DTypeKind::Unsigned) {
    return {remainder};
  }
  const Value zero = ir::zeros_like(x);
  const Value is_whole = ir::equal_to(remainder, zero);
  const Value same_sign = ir::equal_to(ir::less(remainder, zero), ir::less(y, zero));
  return {ir::select(ir::binary(Op::Or, is_whole, same_sign), remainder, remainder + y)};
}

Values import_reciprocal(NodeContext& node) { return {1.0 / node.input(0)}; }

/// x 2^y, or x / 2^y rounded down: of a negative x by its complement -x - 1. Powers wrap to 0 for y
/// of at least the number of bits and are 0 for a negative y, and integers divided by 0 are 0.
Values import_bit_shift(NodeContext& node) {
  const auto [x, y] = broadcast_inputs(node);
  const Value power = ir::binary(Op::Pow, ir::like(x, 2), y);
  const std::string direction = node.string("direction", "");
  if (direction == "LEFT") return {x * power};
  if (direction != "RIGHT") {
    node.fail(text("direction '", direction, "' is neither LEFT nor RIGHT"));
  }
  if (info(x.dtype()).kind == DTypeKind::Unsigned) return {x / power};
  const Value is_negative = ir::less(x, ir::zeros_like(x));
  const Value quotient = ir::select(is_negative, -x - 1.0, x) / power;
  return {ir::select(is_negative, -quotient - 1.0, quotient)};
}

/// ~x, since -x is ~x + 1.
Values import_bitwise_not(NodeContext& node) { return {-node.input(0) - 1.0}; }

Values import_tan(NodeContext& node) {
  const Value x = node.input(0);
  return {ir::unary(Op::Sin, x) / ir::unary(Op::Cos, x)};
}

/// The angle of the point (sqrt(1 - x^2), x): exact ends, as atan takes infinities, NaN beyond
/// them.
Values import_asin(NodeContext& node) {
  const Value x = node.input(0);
  return {ir::unary(Op::Atan, x / ir::unary(Op::Sqrt, (1.0 - x) * (x + 1.0)))};
}

/// 2 atan(sqrt((1 - x) / (1 + x))), accurate also near 1.
Values import_acos(NodeContext& node) {
  const Value x = node.input(0);
  return {ir::unary(Op::Atan, ir::unary(Op::Sqrt, (1.0 - x) / (x + 1.0))) * 2.0};
}

/// |x| with the slope 1 at 0, and an odd function by its values there: the gradient of sign(x)
/// f(|x|) would be 0 at 0.
Value magnitude(const Value& x) { return ir::select(ir::less(x, ir::zeros_like(x)), -x, x); }
Value odd(const Value& x, const Value& of_magnitude) {
  return ir::select(ir::less(x, ir::zeros_like(x)), -of_magnitude, of_magnitude);
}

/// (e^x - e^-x) / 2 with expm1, exact near 0; halves of the exponent keep large x finite.
Values import_sinh(NodeContext& node) {
  const Value x = node.input(0), size = magnitude(x);
  const Value is_small = ir::less(size, ir::like(x, 20));
  const Value m = ir::unary(Op::Expm1, ir::select(is_small, size, ir::like(x, 1)));
  const Value small = (m + m / (m + 1.0)) * 0.5;
  const Value half = ir::unary(Op::Exp, size * 0.5);
  const Value large = half * 0.5 * half;
  return {odd(x, ir::select(is_small, small, large))};
}

Values import_cosh(NodeContext& node) {
  const Value half = ir::unary(Op::Exp, ir::unary(Op::Abs, node.input(0)) * 0.5);
  return {half * 0.5 * half + 0.5 / half / half};
}

/// Whether the square of |x| could overflow in float16.
Value is_large(const Value& size) { return ir::less(ir::like(size, 100), size); }

/// log(x + sqrt(x^2 + change)) for large x, and for all others a number with a finite gradient.
Value log_of_sum(const Value& x, const Value& is_chosen, double change) {
  const Value size = ir::select(is_chosen, x, ir::like(x, 100)), inverse = 1.0 / size;
  const Value root = ir::unary(Op::Sqrt, inverse * inverse * change + 1.0);
  return ir::unary(Op::Log, size) + ir::unary(Op::Log1p, root);
}

/// sign(x) log1p(|x| + x^2 / (1 + sqrt(1 + x^2))), exact near 0.
Values import_asinh(NodeContext& node) {
  const Value x = node.input(0), size = magnitude(x), far = is_large(size);
  const Value near = ir::select(far, ir::like(x, 1), size);
  const Value root = ir::unary(Op::Sqrt, near * near + 1.0);
  const Value small = ir::unary(Op::Log1p, near + near * (near / (root + 1.0)));
  return {odd(x, ir::select(far, log_of_sum(size, far, 1), small))};
}

/// log1p(t + sqrt(2 t + t^2)) for t = x - 1.
Values import_acosh(NodeContext& node) {
  const Value x = node.input(0), far = is_large(x);
  const Value t = ir::select(far, ir::like(x, 2), x) - 1.0;
  const Value small = ir::unary(Op::Log1p, t + ir::unary(Op::Sqrt, t * 2.0 + t * t));
  return {ir::select(far, log_of_sum(x, far, -1), small)};
}

Values import_atanh(NodeContext& node) {
  const Value x = node.input(0);
  return {(ir::unary(Op::Log1p, x) - ir::unary(Op::Log1p, -x)) * 0.5};
}

Values import_is_nan(NodeContext& node) {
  const Value x = node.input(0);
  return {ir::logical_not(ir::equal_to(x, x))};
}

Values import_is_inf(NodeContext& node) {
  const Value x = node.input(0);
  const Value infinity = ir::like(x, std::numeric_limits<double>::infinity());
  const Value none = ir::full(DType::Bool, x.dims(), 0);
  const Value high = node.integer("detect_positive", 1) != 0 ? ir::equal_to(x, infinity) : none;
  const Value low = node.integer("detect_negative", 1) != 0 ? ir::equal_to(x, -infinity) : none;
  return {ir::binary(Op::Or, high, low)};
}

Values import_where(NodeContext& node) {
  const auto [x, y] = broadcast_values(node.input(1), node.input(2));
  const Value condition = node.input(0);
  const ir::Dims dims = broadcast_dims(condition.type(), x.type());
  return {ir::select(ir::broadcast_to(condition, dims), ir::broadcast_to(x, dims),
                     ir::broadcast_to(y, dims))};
}

Values import_cast(NodeContext& node) {
  const std::int64_t target = node.integer("to");
  return {cast_to(node.input(0), target)};
}

/// A bool is the byte 0 or 1; other bytes become true.
Values import_bitcast(NodeContext& node) {
  const Value x = node.input(0);
  const std::int64_t target = node.integer("to");
  const DType dtype = cast_to(x, target).dtype();
  const Value number = x.dtype() == DType::Bool ? ir::cast(x, DType::UInt8) : x;
  const Value bits = ir::bitcast(number, dtype == DType::Bool ? DType::UInt8 : dtype);
  return {ir::cast(bits, dtype)};
}

Values import_cast_like(NodeContext& node) {
  return {ir::cast(node.input(0), node.input(1).dtype())};
}

Values import_identity(NodeContext& node) { return {node.input(0)}; }

constexpr OperatorRow kElementwiseRows[] = {
    {"Abs", {6, 13}, unary<Op::Abs>},
    {"Acos", {7, 22}, import_acos},
    {"Acosh", {9, 22}, import_acosh},
    {"Add", {6, 7, 13, 14}, binary<Op::Add>},
    {"And", {1, 7}, binary<Op::And>},
    {"Asin", {7, 22}, import_asin},
    {"Asinh", {9, 22}, import_asinh},
    {"Atan", {7, 22}, unary<Op::Atan>},
    {"Atanh", {9, 22}, import_atanh},
    {"BitCast", {26}, import_bitcast},
    {"BitShift", {11, 28}, import_bit_shift},
    {"BitwiseAnd", {18}, binary<Op::BitAnd>},
    {"BitwiseNot", {18}, import_bitwise_not},
    {"BitwiseOr", {18}, binary<Op::BitOr>},
    {"BitwiseXor", {18}, binary<Op::BitXor>},
    {"Cast", {6, 9, 13, 19, 21, 23, 24, 25, 28}, import_cast},
    {"CastLike", {15, 19, 21, 23, 24, 25}, import_cast_like},
    {"Ceil", {6, 13}, k_unary<kiln::ceil>},
    {"Cos", {7, 22}, unary<Op::Cos>},
    {"Cosh", {9, 22}, import_cosh},
    {"Div", {6, 7, 13, 14}, binary<Op::Div>},
    {"Equal", {1, 7, 11, 13, 19}, binary<Op::Equal>},
    {"Erf", {9, 13}, unary<Op::Erf>},
    {"Exp", {6, 13}, unary<Op::Exp>},
    {"Floor", {6, 13}, k_unary<kiln::floor>},
    {"Greater", {1, 7, 9, 13}, k_binary<kiln::greater>},
    {"GreaterOrEqual", {12, 16}, k_binary<kiln::greater_equal>},
    {"Identity", {1, 13, 14, 16, 19, 21, 23, 24, 25}, import_identity},
    {"IsInf", {10, 20}, import_is_inf},
    {"IsNaN", {9, 13, 20}, import_is_nan},
    {"Less", {1, 7, 9, 13}, binary<Op::Less>},
    {"LessOrEqual", {12, 16}, binary<Op::LessEqual>},
    {"Log", {6, 13}, unary<Op::Log>},
    {"Max", {6, 8, 12, 13}, variadic<Op::Maximum>},
    {"Mean", {6, 8, 13}, import_mean},
    {"Min", {6, 8, 12, 13}, variadic<Op::Minimum>},
    {"Mod", {10, 13, 28}, import_mod},
    {"Mul", {6, 7, 13, 14}, binary<Op::Mul>},
    {"Neg", {6, 13}, unary<Op::Neg>},
    {"Not", {1}, unary<Op::Not>},
    {"Or", {1, 7}, binary<Op::Or>},
    {"Pow", {1, 7, 12, 13, 15}, import_pow},
    {"Reciprocal", {6, 13}, import_reciprocal},
    {"Round", {11, 22}, unary<Op::Round>},
    {"Sign", {9, 13}, unary<Op::Sign>},
    {"Sin", {7, 22}, unary<Op::Sin>},
    {"Sinh", {9, 22}, import_sinh},
    {"Sqrt", {6, 13}, unary<Op::Sqrt>},
    {"Sub", {6, 7, 13, 14}, binary<Op::Sub>},
    {"Sum", {6, 8, 13}, variadic<Op::Add>},
    {"Tan", {7, 22}, import_tan},
    {"Where", {9, 16}, import_where},
    {"Xor", {1, 7}, k_binary<kiln::logical_xor>},
};

}  // namespace

std::span<const OperatorRow> elementwise_operators() { return kElementwiseRows; }

}  // namespace kiln::onnx
