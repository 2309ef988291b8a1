// pow for float32: 2^(y log2|x|) in float64, where short minimax polynomials suffice (relative
// errors of 2^-37 for log2 and 2^-34 for 2^t). The special values of C follow from the wider range
// of float64 and three selections at the end.
#pragma once

#include "backends/codegen/formulas/split_exponent.h"

namespace kiln::codegen::formulas {

inline constexpr double kLog2Pow[] = {2.88539008179014699, 0.961796673275709654,
                                      0.577083596191372512, 0.411672108923019587,
                                      0.340740466387036295};
inline constexpr double kExp2Pow[] = {0.693147180541651724,    0.240226510758464257,
                                      0.0555041096260486814,   0.00961803691144948121,
                                      0.00133334307592947879,  0.000154671102172222005,
                                      0.0000153149528344385381};

/// log2 x; NaN for NaN. REQUIRES: a builder for float64; x >= 0 was widened from float32.
template <FormulaBuilder F>
Value<F> log2_for_pow(const F& f, const Value<F>& x) {
  const SplitNumber<F> parts = split_exponent(f, x);
  const Value<F> s = f.divide(parts.g, f.add(parts.g, f.real(2)));
  const Value<F> p = polynomial(f, f.multiply(s, s), kLog2Pow);
  Value<F> y = f.multiply_add(s, p, parts.n);
  y = f.choose(f.equal_or_nan(x, f.real(kInfinity)), x, y);
  return f.choose(f.equal(x, f.real(0)), f.real(-kInfinity), y);
}

/// 2^x, saturated beyond the range of float32. REQUIRES: a builder for float64.
template <FormulaBuilder F>
Value<F> exp2_for_pow(const F& f, const Value<F>& x) {
  // Beyond the limits, the result is 0 or infinity in float32.
  const Value<F> t = at_most(f, at_least(f, x, f.real(-200)), f.real(200));
  const Value<F> shifted = f.add(t, rounder(f));
  const Value<F> g = f.subtract(t, f.subtract(shifted, rounder(f)));
  const Value<F> p = polynomial(f, g, kExp2Pow);
  const Value<F> mantissa = f.bits(f.multiply_add(g, p, f.real(1)));
  return f.from_bits(f.add_bits(mantissa, to_exponent(f, f.bits(shifted))));
}

/// x^y with the special values of C. REQUIRES: a builder for float32.
template <FormulaBuilder F>
Value<F> pow(const F& f, const Value<F>& x, const Value<F>& y) {
  const F d = f.doubles();
  const Value<F> size = f.widen(f.magnitude(x));
  // Beyond the limit, every exponent is an even integer, and the result is finite and nonzero only
  // for |x| = 1.
  const Value<F> limit = d.real(0x1p40);
  Value<F> exponent = f.widen(y);
  exponent = at_most(d, at_least(d, exponent, d.negate(limit)), limit);
  const Value<F> shifted = d.add(exponent, rounder(d));
  const Value<F> is_integer = d.equal(d.subtract(shifted, rounder(d)), exponent);
  const Value<F> odd = d.lowest_bit(d.bits(shifted));

  const Value<F> power = exp2_for_pow(d, d.multiply(exponent, log2_for_pow(d, size)));
  Value<F> result = f.narrow(power);
  Value<F> sign = f.and_bits(f.bits(x), f.integer(0x80000000));
  sign = f.choose(f.both(odd, is_integer), sign, f.integer(0));
  result = f.from_bits(f.or_bits(f.bits(result), sign));

  const Value<F> negative = f.both(f.less(x, f.real(0)), f.less(f.real(-kInfinity), x));
  const Value<F> invalid = f.both(negative, f.negation(is_integer));
  result = f.choose(invalid, f.nan(), result);
  const Value<F> is_one = f.either(f.equal(x, f.real(1)), f.equal(y, f.real(0)));
  return f.choose(is_one, f.real(1), result);
}

}  // namespace kiln::codegen::formulas
