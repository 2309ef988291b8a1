// exp, expm1, tanh, sigmoid. x = n ln 2 + r with |r| <= ln 2 / 2; e^r - 1 = r + r^2 q(r),
// where q is minimax for the relative error of e^r - 1 (Remez exchange in 200 bits, then rounded).
#pragma once

#include "backends/codegen/formulas/builder.h"

#include <bit>

namespace kiln::codegen::formulas {

inline constexpr double kLog2E = 0x1.71547652b82fep+0;
inline constexpr double kLn2 = 0x1.62e42fefa39efp-1;
// Bounds beyond which results are not normal numbers, by format.
inline constexpr double kExpOverflows[] = {88.722835, 709.78271289338397};
inline constexpr double kExpVanishes[] = {-87.33654, -708.39641853226411};
// 2^-26, 2^-32 and 2^-61.7 relative to e^r - 1.
inline constexpr double kExpShort[] = {0.4999999813, 0.1666654235, 0.04166720533, 0.008366691552,
                                       0.00138824913};
inline constexpr double kExpFloat[] = {0.5000000045,   0.1666666637,   0.04166635778,
                                       0.008333389949, 0.001394089279, 0.0001984590003};
inline constexpr double kExpDouble[] = {0.5,
                                        0.166666666666666768,
                                        0.0416666666666665048,
                                        0.00833333333332144933,
                                        0.00138888888889638598,
                                        0.000198412698866613565,
                                        0.0000248015871705832536,
                                        2.75572435998442379e-6,
                                        2.75574034734502876e-7,
                                        2.51092723557663127e-8,
                                        2.08753301155758408e-9};
// For |r| <= a = ln 2 / 16, within 2^-25.1 of e^r: 1/2 + 0.83 a^2 / 24 and 1/6 + a^2 / 150, chosen
// by hand.
inline constexpr double kExpEighth[] = {0.50006478, 0.16667915};
// 2^(k / 8).
inline constexpr double kExp2Eighths[kLookupEntries] = {1,
                                                        1.09050773266525766,
                                                        1.18920711500272107,
                                                        1.29683955465100967,
                                                        1.41421356237309505,
                                                        1.54221082540794082,
                                                        1.68179283050742909,
                                                        1.83400808640934246};
// Of ((e^(-2h) - 1) / 2 + h) / h^2 in h: kExpShort at r = -2h, times 2.
inline constexpr double kTanhFloat[] = {2 * kExpShort[0], -4 * kExpShort[1], 8 * kExpShort[2],
                                        -16 * kExpShort[3], 32 * kExpShort[4]};
// Of (tanh x / x - 1) / x^2 in x^2 for |x| <= 1/2: 2^-58.3 relative to tanh.
inline constexpr double kTanhDouble[] = {-0.333333333333331643,    0.133333333333003396,
                                         -0.0539682539459249595,   0.0218694877864955857,
                                         -0.00886322103099384097,  0.00359195393229086512,
                                         -0.00145448972016350304,  0.000583303310605614108,
                                         -0.000217836227896106257, 0.0000568048195141908016};

template <class F>
struct ReducedExp {
  Value<F> expm1;     // e^r - 1
  Value<F> exponent;  // n in the low bits, with other bits above it
};

/// Reduces the argument (Cody-Waite). `is_careful`: compensates the rounding error of r. `bias` is
/// added to the exponent; n keeps its bits if multiply_add rounds once, because no number times
/// log2 e is half way between integers.
template <FormulaBuilder F>
ReducedExp<F> reduce_exp(const F& f, const Value<F>& x, std::span<const double> float32,
                         bool is_careful = false, std::uint64_t bias = 0) {
  // ln 2 in two parts; the product of an exponent and the high part is exact.
  const double high = f.format.by_format(0x1.62e4p-1, 0x1.62e42fefa38p-1);
  const double low = f.format.by_format(0x1.7f7d1cf79abcap-20, 0x1.ef35793c7673p-45);
  const Value<F> round = rounder(f, bias);
  const Value<F> shifted = f.multiply_add(x, f.real(kLog2E), round);
  const Value<F> n = f.subtract(shifted, round);
  const Value<F> whole = f.multiply_add(n, f.real(-high), x);
  const Value<F> r = f.multiply_add(n, f.real(-low), whole);
  const Value<F> q =
      polynomial(f, r, f.format.is_double ? std::span<const double>(kExpDouble) : float32);
  const Value<F> square = f.multiply(r, r);
  if (!is_careful) return {f.multiply_add(square, q, r), f.bits(shifted)};
  const Value<F> lost = f.multiply_add(n, f.real(-low), f.subtract(whole, r));
  return {f.add(r, f.multiply_add(square, q, lost)), f.bits(shifted)};
}

/// 2^n. REQUIRES: the result is a normal number.
template <FormulaBuilder F>
Value<F> power_of_two(const F& f, const Value<F>& n) {
  return f.from_bits(to_exponent(f, f.add_bits(n, f.integer(f.format.bias()))));
}

/// e^x. REQUIRES: the result is a normal number.
template <FormulaBuilder F>
Value<F> normal_exp(const F& f, const Value<F>& x) {
  const ReducedExp<F> r = reduce_exp(f, x, kExpShort);
  // Adds n to the exponent: 2^n itself may overflow where the result does not.
  const Value<F> mantissa = f.bits(f.add(r.expm1, f.real(1)));
  return f.from_bits(f.add_bits(mantissa, to_exponent(f, r.exponent)));
}

/// y; infinity for x above the overflow bound; NaN for NaN.
template <FormulaBuilder F>
Value<F> with_exp_overflow(const F& f, const Value<F>& x, const Value<F>& y) {
  const Value<F> fits = f.less_equal(x, f.real(kExpOverflows[f.format.is_double]));
  return f.choose(fits, y, f.multiply(x, f.real(kInfinity)));
}

template <FormulaBuilder F>
Value<F> exp(const F& f, const Value<F>& x) {
  const Value<F> y = with_exp_overflow(f, x, normal_exp(f, x));
  return f.choose(f.less(x, f.real(kExpVanishes[f.format.is_double])), f.real(0), y);
}

/// The bits of 2^(k / 8) minus k << 20, which is k / 8 in units of the exponent: adding n << 20,
/// where n = k modulo 8, gives the bits of 2^(n / 8).
constexpr LookupTable exp2_table() {
  LookupTable table{};
  for (std::uint32_t k = 0; k < kLookupEntries; ++k) {
    table[k] = std::bit_cast<std::uint32_t>(static_cast<float>(kExp2Eighths[k])) - (k << 20);
  }
  return table;
}

/// e^x = 2^(n / 8) e^r, where |r| <= ln 2 / 16 needs three coefficients less than kExpShort has. At
/// most 1.2 ulp off. REQUIRES: as exp_of_nonpositive; -88 <= x or NaN.
template <LookupBuilder F>
Value<F> exp_by_eighths(const F& f, const Value<F>& x) {
  static constexpr LookupTable kTable = exp2_table();
  const Value<F> round = rounder(f);
  const Value<F> shifted = f.multiply_add(x, f.real(8 * kLog2E), round);
  const Value<F> n = f.subtract(shifted, round);
  const Value<F> whole = f.multiply_add(n, f.real(-0x1.62e4p-4), x);
  const Value<F> r = f.multiply_add(n, f.real(-0x1.7f7d1cf79abcap-23), whole);
  const Value<F> expm1 = f.multiply_add(f.multiply(r, r), polynomial(f, r, kExpEighth), r);
  // Where the power is below the normal range, so is e^x: the product flushes it to 0.
  const Value<F> eighths = f.bits(shifted);
  const Value<F> power =
      f.from_bits(f.add_bits(f.lookup(eighths, kTable), f.shift_left(eighths, 20)));
  return f.multiply_add(power, expm1, power);
}

/// exp(x) for x <= 0 and NaN. Needs no selection: 2^n is finite for every n, and the multiplication
/// by it propagates NaN and flushes results below the normal range to 0. Has the bits of exp but
/// for float32 where the target looks up tables. REQUIRES: multiply_add rounds once; x > 0 gives
/// any value.
template <FormulaBuilder F>
Value<F> exp_of_nonpositive(const F& f, const Value<F>& x) {
  const Value<F> limited = at_least(f, x, f.real(f.format.by_format(-88, -709)));  // n >= -bias
  if constexpr (LookupBuilder<F>) {
    if (f.has_lookup()) return exp_by_eighths(f, limited);
  }
  const ReducedExp<F> r = reduce_exp(f, limited, kExpShort, false, f.format.bias());
  const Value<F> scale = f.from_bits(to_exponent(f, r.exponent));  // 0 where n is -bias
  return f.multiply_add(scale, r.expm1, scale);
}

template <FormulaBuilder F>
Value<F> expm1(const F& f, const Value<F>& x) {
  const FloatFormat format = f.format;
  const ReducedExp<F> r = reduce_exp(f, at_least(f, x, f.real(-50)), kExpFloat, format.is_double);
  // Near overflow: scales by half of the power, then doubles; there the term -1 is negligible.
  const Value<F> large = f.less(f.real(60), x);
  const Value<F> bias = f.choose(large, f.integer(format.bias() - 1), f.integer(format.bias()));
  const Value<F> scale = f.from_bits(to_exponent(f, f.add_bits(r.exponent, bias)));
  Value<F> y = f.multiply_add(scale, r.expm1, f.subtract(scale, f.real(1)));
  y = f.multiply(y, f.choose(large, f.real(2), f.real(1)));
  return f.with_sign_of(with_exp_overflow(f, x, y), x);
}

/// (1 - t) / (1 + t) with t = e^(-2|x|) = 2^n (1 + 2p) and |x| = h - n ln 2 / 2. Computes half of
/// numerator and denominator, (1 - 2^n) / 2 - 2^n p and (1 + 2^n) / 2 + 2^n p: one rounding error
/// each for n >= -23, instead of that of t and another one. At most 1.94 ulp off, 1.97 without
/// fused multiply-add (every_float_test.cpp). REQUIRES: float32.
template <FormulaBuilder F>
Value<F> tanh_float32(const F& f, const Value<F>& x) {
  const Value<F> limited = at_most(f, f.magnitude(x), f.real(10));  // it is 1 from 9.02 on
  const Value<F> round = rounder(f, f.format.bias());
  const Value<F> shifted = f.multiply_add(limited, f.real(-2 * kLog2E), round);
  const Value<F> n = f.subtract(shifted, round);
  // ln 2 / 2 need not be split: an error e of h changes tanh by about 2^(n + 2) e.
  const Value<F> h = f.multiply_add(n, f.real(kLn2 / 2), limited);
  const Value<F> q = polynomial(f, h, kTanhFloat);
  const Value<F> p = f.multiply_add(f.multiply(h, h), q, f.negate(h));
  const Value<F> scale = f.from_bits(to_exponent(f, f.bits(shifted)));
  const Value<F> half = f.real(0.5), minus = f.negate(scale);
  const Value<F> difference = f.multiply_add(minus, p, f.multiply_add(minus, half, half));
  const Value<F> sum = f.multiply_add(scale, p, f.multiply_add(scale, half, half));
  return f.with_sign_of(f.divide(difference, sum), x);
}

/// REQUIRES: float64.
template <FormulaBuilder F>
Value<F> tanh_float64(const F& f, const Value<F>& x) {
  const Value<F> square = f.multiply(x, x);
  const Value<F> p = polynomial(f, square, kTanhDouble);
  const Value<F> small = f.multiply_add(f.multiply(x, square), p, x);
  // t / (t + 2) with t = e^(2|x|) - 1; the quotient is 1 from the limit on.
  const Value<F> size = f.magnitude(x);
  const Value<F> limited = at_most(f, size, f.real(22));
  const ReducedExp<F> r = reduce_exp(f, f.multiply(limited, f.real(2)), kExpShort);
  const Value<F> scale = power_of_two(f, r.exponent);
  const Value<F> t = f.multiply_add(scale, r.expm1, f.subtract(scale, f.real(1)));
  const Value<F> large = f.divide(t, f.add(t, f.real(2)));
  return f.with_sign_of(f.choose(f.less(size, f.real(0.5)), small, large), x);
}

template <FormulaBuilder F>
Value<F> tanh(const F& f, const Value<F>& x) {
  return f.format.is_double ? tanh_float64(f, x) : tanh_float32(f, x);
}

template <FormulaBuilder F>
Value<F> sigmoid(const F& f, const Value<F>& x) {
  // 1 / (1 + 2^n + 2^n (e^r - 1)); the rounding error of 1 + 2^n is added to the product.
  const ReducedExp<F> r = reduce_exp(f, at_least(f, f.negate(x), f.real(-40)), kExpShort);
  const Value<F> scale = power_of_two(f, r.exponent);
  const Value<F> head = f.add(scale, f.real(1));
  const Value<F> lost = f.subtract(f.real(1), f.subtract(head, scale));
  const Value<F> sum = f.add(head, f.multiply_add(scale, r.expm1, lost));
  const Value<F> vanishes = f.less(x, f.real(kExpVanishes[f.format.is_double]));
  return f.choose(vanishes, f.real(0), f.divide(f.real(1), sum));
}

}  // namespace kiln::codegen::formulas
