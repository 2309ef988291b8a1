// Known numbers by the scalar meaning of the op, sizes by the arithmetic of dims.
#include "core/k/shape/shape_arithmetic.h"

#include "core/ops/convert.h"

#include <cmath>

namespace kiln {
namespace {

using ir::Dim;
using ir::Op;
using ir::Ternary;

using Element = std::optional<ShapeElement>;

/// Floats of sizes are exact in float32 for sizes below 2^24 / kMaxDivisor.
constexpr std::int64_t kMaxDivisor = 1024;

bool is_known(const ShapeElement& x) { return x.number || (x.dim.is_static() && x.divisor == 1); }

std::vector<std::byte> bytes_of(const ShapeElement& x, DType dtype) {
  return x.number ? ir::scalar_bytes(dtype, *x.number) : ir::scalar_bytes_int(dtype, x.dim.value());
}

Element from_bytes(const std::vector<std::byte>& bytes, DType dtype) {
  if (is_float(dtype)) {
    double number = 0;
    ir::load_floating(dtype, bytes.data(), &number, 1);
    return ShapeElement{.dim = {}, .number = number};
  }
  std::int64_t number = 0;
  ir::convert_elements(dtype, bytes.data(), DType::Int64, reinterpret_cast<std::byte*>(&number), 1);
  return ShapeElement{.dim = number};
}

/// All operands are known: the op's own scalar meaning.
Element of_known(Op op, DType from, DType to, const ShapeElements& operands) {
  std::vector<std::vector<std::byte>> bytes;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    bytes.push_back(bytes_of(*operands[i], op == Op::Select && i == 0 ? DType::Bool : from));
  }
  std::vector<std::byte> result(dtype_bytes(to));
  if (op == Op::Cast) {
    ir::convert_elements(from, bytes[0].data(), to, result.data(), 1);
    return from_bytes(result, to);
  }
  if (op == Op::Bitcast) return from_bytes(bytes[0], to);
  std::vector<const std::byte*> pointers;
  for (const auto& one : bytes) pointers.push_back(one.data());
  ir::apply_scalar(ir::def(op), from, to, pointers, result.data(), 1);
  return from_bytes(result, to);
}

Element of_ternary(Ternary holds) {
  if (holds == Ternary::Unknown) return std::nullopt;
  return ShapeElement{.dim = holds == Ternary::Yes ? 1 : 0};
}

/// A known float as a whole number of 1/divisor; nullopt if it is none.
Element as_fraction(const ShapeElement& x) {
  if (!x.number) return x;
  for (std::int64_t divisor = 1; divisor <= kMaxDivisor; divisor *= 2) {
    const double scaled = *x.number * static_cast<double>(divisor);
    if (std::fabs(scaled) > 1e9) return std::nullopt;
    if (scaled != std::floor(scaled)) continue;
    return ShapeElement{.dim = static_cast<std::int64_t>(scaled), .divisor = divisor};
  }
  return std::nullopt;
}

bool is_power_of_two(std::int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

/// x / y for a y that is a positive power of two, exact.
Element of_float_quotient(const ShapeElement& x, const ShapeElement& y) {
  if (!y.dim.is_static() || !is_power_of_two(y.dim.value())) return std::nullopt;
  const std::int64_t divisor = x.divisor * y.dim.value();
  if (divisor > kMaxDivisor || y.divisor > kMaxDivisor) return std::nullopt;
  return ShapeElement{.dim = x.dim * Dim(y.divisor), .divisor = divisor};
}

Element of_floats(Op op, const ShapeElement& x, const ShapeElement& y) {
  const std::int64_t divisor = std::max(x.divisor, y.divisor);
  const Dim a = x.dim * Dim(divisor / x.divisor), b = y.dim * Dim(divisor / y.divisor);
  switch (op) {
    case Op::Add: return ShapeElement{.dim = a + b, .divisor = divisor};
    case Op::Sub: return ShapeElement{.dim = a - b, .divisor = divisor};
    case Op::Maximum: return ShapeElement{.dim = max(a, b), .divisor = divisor};
    case Op::Minimum: return ShapeElement{.dim = min(a, b), .divisor = divisor};
    case Op::Mul:
      if (x.divisor * y.divisor > kMaxDivisor) return std::nullopt;
      return ShapeElement{.dim = x.dim * y.dim, .divisor = x.divisor * y.divisor};
    case Op::Div: return of_float_quotient(x, y);
    case Op::Equal: return of_ternary(equal(a, b));
    case Op::LessEqual: return of_ternary(less_equal(a, b));
    case Op::Less: return of_ternary(less_equal(a + 1, b));
    default: return std::nullopt;
  }
}

Element of_integers(Op op, const Dim& x, const Dim& y) {
  switch (op) {
    case Op::Add: return ShapeElement{.dim = x + y};
    case Op::Sub: return ShapeElement{.dim = x - y};
    case Op::Mul: return ShapeElement{.dim = x * y};
    case Op::Maximum: return ShapeElement{.dim = max(x, y)};
    case Op::Minimum: return ShapeElement{.dim = min(x, y)};
    case Op::Equal: return of_ternary(equal(x, y));
    case Op::LessEqual: return of_ternary(less_equal(x, y));
    case Op::Less: return of_ternary(less_equal(x + 1, y));
    case Op::Div:
    case Op::Mod:
      // Integers round toward zero, dims down: the same for x >= 0 and y > 0.
      if (less_equal(0, x) != Ternary::Yes || less_equal(1, y) != Ternary::Yes) break;
      return ShapeElement{.dim = op == Op::Div ? floor_div(x, y) : mod(x, y)};
    default: break;
  }
  return std::nullopt;
}

Element of_cast(const ShapeElement& x, DType from, DType to) {
  const bool keeps = dtype_bytes(to) >= 4;
  if (to == DType::Bool) {
    const Ternary is_zero = equal(x.dim, 0);
    return is_zero == Ternary::Unknown
               ? std::nullopt
               : of_ternary(is_zero == Ternary::Yes ? Ternary::No : Ternary::Yes);
  }
  if (!keeps) return std::nullopt;
  if (!is_float(from) || is_float(to)) return x;
  // A float is truncated toward zero, dims are rounded down.
  if (less_equal(0, x.dim) != Ternary::Yes) return std::nullopt;
  return ShapeElement{.dim = floor_div(x.dim, x.divisor)};
}

Element of_one(Op op, const ShapeElement& x, DType from, DType to) {
  switch (op) {
    case Op::Cast: return of_cast(x, from, to);
    case Op::Neg: return ShapeElement{.dim = Dim(0) - x.dim, .divisor = x.divisor};
    case Op::Floor: return ShapeElement{.dim = floor_div(x.dim, x.divisor)};
    case Op::Round:
      if (x.divisor == 1) return x;
      return std::nullopt;
    case Op::Abs:
      if (less_equal(0, x.dim) == Ternary::Yes) return x;
      return std::nullopt;
    case Op::Sign:
      if (less_equal(1, x.dim) == Ternary::Yes) return ShapeElement{.dim = 1};
      return std::nullopt;
    default: return std::nullopt;
  }
}

/// Rules that hold if one operand depends on data.
Element of_logic(Op op, const ShapeElements& x) {
  const auto is = [&](std::size_t i, int value) { return x[i] && x[i]->dim == Dim(value); };
  if (op == Op::And && (is(0, 0) || is(1, 0))) return ShapeElement{.dim = 0};
  if (op == Op::Or && (is(0, 1) || is(1, 1))) return ShapeElement{.dim = 1};
  if (op == Op::Select && x[0] && x[0]->dim.is_static()) return x[0]->dim.is_one() ? x[1] : x[2];
  if (op == Op::Select && x[1] && x[2] && !x[1]->number && !x[2]->number &&
      x[1]->dim == x[2]->dim && x[1]->divisor == x[2]->divisor) {
    return x[1];
  }
  return std::nullopt;
}

}  // namespace

std::optional<ShapeElement> shape_arithmetic(Op op, DType from, DType to,
                                             const ShapeElements& operands) {
  if (op == Op::And || op == Op::Or || op == Op::Select) {
    if (const Element decided = of_logic(op, operands)) return decided;
  }
  for (const Element& operand : operands) {
    if (!operand) return std::nullopt;
  }
  if (std::all_of(operands.begin(), operands.end(), [](const auto& x) { return is_known(*x); })) {
    return of_known(op, from, to, operands);
  }
  ShapeElements exact;
  for (const Element& operand : operands) {
    exact.push_back(as_fraction(*operand));
    if (!exact.back()) return std::nullopt;
  }
  if (exact.size() == 1) return of_one(op, *exact[0], from, to);
  if (exact.size() != 2) return std::nullopt;
  return is_float(from) ? of_floats(op, *exact[0], *exact[1])
                        : of_integers(op, exact[0]->dim, exact[1]->dim);
}

}  // namespace kiln
