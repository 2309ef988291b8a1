// sin and cos: |x| = n pi/2 + r; n mod 4 selects the polynomial in r. The reduction (Cody-Waite)
// subtracts n times each part of pi/2. Without fused multiply-add the last product is rounded; its
// error is negligible up to kTrigLimit. Polynomials are minimax for the relative error (float32
// 2^-27.8, float64 2^-57.6). float32 is at most 1.57 units in the last place off.
#pragma once

#include "backends/codegen/formulas/builder.h"

namespace kiln::codegen::formulas {

/// Targets call a library function for |x| above this.
inline constexpr double kTrigLimit = 1e5;

inline constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
// pi/2 in three parts: 33 bits, 33 bits, the remainder; and the remainder after the first part.
inline constexpr double kHalfPi1 = 0x1.921fb544p+0, kHalfPi2 = 0x1.0b4611a6p-34;
inline constexpr double kHalfPi3 = 0x1.3198a2e037073p-69, kAfterHalfPi1 = 0x1.0b4611a626331p-34;
// pi/2 as the sum of three float32, for targets with fused multiply-add.
inline constexpr double kHalfPiFloat[] = {0x1.921fb6p+0, -0x1.777a5cp-25, -0x1.ee59dap-50};
inline constexpr double kSinFloat[] = {-0.1666665347, 0.008332083462, -0.000195043175};
inline constexpr double kSinDouble[] = {-0.166666666666666228,    0.00833333333332003981,
                                        -0.000198412698278551072, 2.75573129995186081e-6,
                                        -2.5050647770796587e-8,   1.58903072149635378e-10};
inline constexpr double kCosFloat[] = {0.04166664438, -0.001388724274, 2.442388866e-5};
inline constexpr double kCosDouble[] = {0.0416666666666665816,    -0.00138888888888709142,
                                        0.0000248015872874198963, -2.75573137425620507e-7,
                                        2.08756387900215212e-9,   -1.13552041770034774e-11};

template <class F>
struct Angle {
  Value<F> quadrant;  // its low two bits
  Value<F> r;
  Value<F> rest = {};  // low part of r, float64 only
};

/// x - n pi/2 in float64, where the product of n and kHalfPi1 is exact.
template <FormulaBuilder F>
Value<F> reduce_in_double(const F& f, const Value<F>& x, const Value<F>& n) {
  const F doubles = f.doubles();
  const Value<F> wide = f.widen(n);
  Value<F> r = f.widen(x);
  for (const double part : {kHalfPi1, kAfterHalfPi1}) {
    r = doubles.multiply_add(wide, doubles.real(-part), r);
  }
  return f.narrow(r);
}

template <FormulaBuilder F>
Angle<F> reduce_float(const F& f, const Value<F>& x) {
  const Value<F> shifted = f.multiply_add(x, f.real(kTwoOverPi), rounder(f));
  const Value<F> n = f.subtract(shifted, rounder(f));
  if (!f.has_fma()) return {f.bits(shifted), reduce_in_double(f, x, n)};
  Value<F> r = x;
  for (const double part : kHalfPiFloat) r = f.multiply_add(n, f.real(-part), r);
  return {f.bits(shifted), r};
}

template <FormulaBuilder F>
Angle<F> reduce_double(const F& f, const Value<F>& x) {
  const Value<F> shifted = f.multiply_add(x, f.real(kTwoOverPi), rounder(f));
  const Value<F> n = f.subtract(shifted, rounder(f));
  const Value<F> first = f.subtract(x, f.multiply(n, f.real(kHalfPi1)));
  const Value<F> product = f.multiply(n, f.real(kHalfPi2));
  const Value<F> second = f.subtract(first, product);
  const Value<F> lost = f.subtract(f.subtract(first, second), product);
  const Value<F> last = f.multiply_add(n, f.real(kHalfPi3), f.negate(lost));
  const Value<F> r = f.subtract(second, last);
  return {f.bits(shifted), r, f.subtract(f.subtract(second, r), last)};
}

/// sin of the reduced angle; z = r^2.
template <FormulaBuilder F>
Value<F> reduced_sin(const F& f, const Angle<F>& a, const Value<F>& z) {
  const bool is_double = f.format.is_double;
  const Value<F> p = polynomial(f, z, is_double ? std::span<const double>(kSinDouble) : kSinFloat);
  const Value<F> cube = f.multiply(a.r, z);
  if (!is_double) return f.multiply_add(cube, p, a.r);
  return f.add(a.r, f.multiply_add(cube, p, a.rest));
}

/// cos of the reduced angle; z = r^2.
template <FormulaBuilder F>
Value<F> reduced_cos(const F& f, const Angle<F>& a, const Value<F>& z) {
  const bool is_double = f.format.is_double;
  const Value<F> p = polynomial(f, z, is_double ? std::span<const double>(kCosDouble) : kCosFloat);
  const Value<F> half = f.multiply(z, f.real(0.5));
  const Value<F> near = f.subtract(f.real(1), half);
  const Value<F> lost = f.subtract(f.subtract(f.real(1), near), half);
  Value<F> tail = f.multiply_add(f.multiply(z, z), p, lost);
  if (is_double) tail = f.subtract(tail, f.multiply(a.r, a.rest));
  return f.add(near, tail);
}

template <FormulaBuilder F>
Value<F> sin_or_cos(const F& f, const Value<F>& x, bool is_cos) {
  const Value<F> size = f.magnitude(x);
  const Angle<F> a = f.format.is_double ? reduce_double(f, size) : reduce_float(f, size);
  const Value<F> quadrant = is_cos ? f.add_bits(a.quadrant, f.integer(1)) : a.quadrant;
  const Value<F> z = f.multiply(a.r, a.r);
  const Value<F> odd = f.differs(f.and_bits(quadrant, f.integer(1)), f.integer(0));
  const Value<F> y = f.bits(f.choose(odd, reduced_cos(f, a, z), reduced_sin(f, a, z)));
  const unsigned top = f.format.sign_bit();
  Value<F> sign = f.shift_left(f.and_bits(quadrant, f.integer(2)), top - 1);
  if (!is_cos) sign = f.xor_bits(sign, f.and_bits(f.bits(x), f.integer(1ull << top)));
  return f.from_bits(f.xor_bits(y, sign));
}

/// REQUIRES: |x| <= kTrigLimit, or the caller discards the result.
template <FormulaBuilder F>
Value<F> sin(const F& f, const Value<F>& x) {
  return sin_or_cos(f, x, false);
}
/// REQUIRES: as for sin.
template <FormulaBuilder F>
Value<F> cos(const F& f, const Value<F>& x) {
  return sin_or_cos(f, x, true);
}

}  // namespace kiln::codegen::formulas
