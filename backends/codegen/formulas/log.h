// log and log1p: x = 2^n (1 + g) with 1 + g in [sqrt 1/2, sqrt 2). log(1 + g) is a polynomial for
// float32, and a series in s = g / (2 + g) for float64; both minimax for the relative error of
// the logarithm (2^-30.3 and 2^-59.5; Remez exchange in 200 bits, then rounded).
#pragma once

#include "backends/codegen/formulas/split_exponent.h"

namespace kiln::codegen::formulas {

inline constexpr double kLogFloat[] = {0.333333126,   -0.250000096,  0.2000211865,
                                       -0.1666799588, 0.1421955252,  -0.1240558849,
                                       0.1188816074,  -0.1167565414, 0.06746646875};
inline constexpr double kLogDouble[] = {
    0.666666666666673446, 0.399999999994143063, 0.285714287424780477, 0.222221985631971765,
    0.181835648795635166, 0.153140355555980273, 0.147961077930189917};

/// n ln 2 + log(1 + g)
template <FormulaBuilder F>
Value<F> sum_of_logs(const F& f, const Value<F>& n, const Value<F>& g) {
  const FloatFormat format = f.format;
  const Value<F> high = f.real(format.by_format(0x1.62e4p-1, 0x1.62e42fefa38p-1));
  const Value<F> low =
      f.multiply(n, f.real(format.by_format(0x1.7f7d1cf79abcap-20, 0x1.ef35793c7673p-45)));
  const Value<F> square = f.multiply(g, g);
  if (!format.is_double) {
    const Value<F> p = polynomial(f, g, kLogFloat);
    Value<F> tail = f.multiply_add(f.multiply(square, g), p, low);
    tail = f.multiply_add(square, f.real(-0.5), tail);
    return f.multiply_add(n, high, f.add(g, tail));
  }
  const Value<F> s = f.divide(g, f.add(g, f.real(2)));
  const Value<F> z = f.multiply(s, s);
  const Value<F> r = polynomial(f, z, kLogDouble);
  const Value<F> half = f.multiply(square, f.real(0.5));
  const Value<F> inner = f.multiply_add(s, f.multiply_add(z, r, half), low);
  return f.multiply_add(n, high, f.subtract(g, f.subtract(half, inner)));
}

/// y; x for infinity and NaN; -infinity for x < pole; NaN for x <= outside.
template <FormulaBuilder F>
Value<F> with_log_limits(const F& f, const Value<F>& x, Value<F> y, double pole, double outside) {
  y = f.choose(f.equal_or_nan(x, f.real(kInfinity)), x, y);
  y = f.choose(f.less(x, f.real(pole)), f.real(-kInfinity), y);
  return f.choose(f.less_equal(x, f.real(outside)), f.nan(), y);
}

template <FormulaBuilder F>
Value<F> log(const F& f, const Value<F>& x) {
  const SplitNumber<F> parts = split_exponent(f, x);
  const double smallest = f.format.by_format(0x1p-126, 0x1p-1022);
  return with_log_limits(f, x, sum_of_logs(f, parts.n, parts.g), smallest, -smallest);
}

template <FormulaBuilder F>
Value<F> log1p(const F& f, const Value<F>& x) {
  const FloatFormat format = f.format;
  // 1 + x = u + rest exactly; rest / 2^n is added to g, which for n = 0 makes g equal to x.
  const Value<F> one = f.real(1);
  const Value<F> larger = f.choose(f.less(one, x), x, one);
  const Value<F> smaller = f.choose(f.less(one, x), one, x);
  const Value<F> u = f.add(larger, smaller);
  const Value<F> rest = f.subtract(smaller, f.subtract(u, larger));
  const SplitNumber<F> parts = split_exponent(f, u);
  const Value<F> scale =
      f.from_bits(to_exponent(f, f.subtract_bits(f.integer(format.bias()), parts.exponent)));
  const Value<F> far = f.less(f.real(format.by_format(0x1p30, 0x1p60)), x);
  const Value<F> g = f.add(parts.g, f.choose(far, f.real(0), f.multiply(rest, scale)));
  const Value<F> y = f.with_sign_of(sum_of_logs(f, parts.n, g), x);
  const double next_above = format.by_format(-0x1.fffffep-1, -0x1.fffffffffffffp-1);
  const double next_below = format.by_format(-0x1.000002p0, -0x1.0000000000001p0);
  return with_log_limits(f, x, y, next_above, next_below);
}

}  // namespace kiln::codegen::formulas
