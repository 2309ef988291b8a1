// atan. |x| = a is reduced to t with |t| <= tan(pi/8): t = a, (a - 1) / (a + 1) or -1 / a, and atan
// a = atan t + 0, pi/4 or pi/2. atan t = t + t^3 p(t^2), where p is minimax for the relative error
// of atan t (Remez exchange in 250 bits, then rounded): 2^-28.4 in float32, 2^-57.4 in float64.
#pragma once

#include "backends/codegen/formulas/builder.h"

namespace kiln::codegen::formulas {

inline constexpr double kAtanFloat[] = {-0.3333331518, 0.1999847097, -0.1424352226, 0.1059372713,
                                        -0.0607799109};
inline constexpr double kAtanDouble[] = {
    -0.33333333333333196,  0.19999999999953205,  -0.14285714280162077,  0.1111111078192117,
    -0.090908977182808847, 0.076920595894623768, -0.066630977078416144, 0.058478481107867018,
    -0.050391389635707844, 0.038060804624497731, -0.017903548569351001};
// pi/4 in two parts, by format.
inline constexpr double kQuarterPiHigh[] = {0x1.921fb6p-1, 0x1.921fb54442d18p-1};
inline constexpr double kQuarterPiLow[] = {-0x1.777a5cp-26, 0x1.1a62633145c07p-55};
// tan(pi/8) and its reciprocal.
inline constexpr double kTanEighthPi = 0x1.a827999fcef32p-2,
                        kTanThreeEighthsPi = 0x1.3504f333f9de6p+1;

template <FormulaBuilder F>
Value<F> atan(const F& f, const Value<F>& x) {
  const bool is_double = f.format.is_double;
  const Value<F> a = f.magnitude(x), zero = f.real(0), one = f.real(1);
  const Value<F> is_middle = f.less(f.real(kTanEighthPi), a);
  const Value<F> is_far = f.less(f.real(kTanThreeEighthsPi), a);
  const auto by_range = [&](const Value<F>& near, const Value<F>& middle, const Value<F>& far) {
    return f.choose(is_far, far, f.choose(is_middle, middle, near));
  };
  const Value<F> numerator = by_range(a, f.subtract(a, one), f.real(-1));
  const Value<F> t = f.divide(numerator, by_range(one, f.add(a, one), a));
  const double high = kQuarterPiHigh[is_double], low = kQuarterPiLow[is_double];
  const Value<F> z = f.multiply(t, t);
  const Value<F> p =
      polynomial(f, z, is_double ? std::span<const double>(kAtanDouble) : kAtanFloat);
  const Value<F> rest = by_range(zero, f.real(low), f.real(2 * low));
  const Value<F> sum = f.add(t, f.multiply_add(f.multiply(t, z), p, rest));
  return f.with_sign_of(f.add(by_range(zero, f.real(high), f.real(2 * high)), sum), x);
}

}  // namespace kiln::codegen::formulas
