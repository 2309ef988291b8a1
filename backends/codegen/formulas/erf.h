// erf. Below 1, erf a = a (1 + p(a^2)); above, 1 - e^q(a), where q approximates log erfc a. Both
// are minimax for the relative error of erf (Remez exchange in 160 bits or more, then rounded):
// 2^-29.6 in float32, 2^-56.9 in float64.
#pragma once

#include "backends/codegen/formulas/exp.h"

namespace kiln::codegen::formulas {

inline constexpr double kErfNearFloat[] = {0.1283791657,   -0.3761262582,  0.1128358515,
                                           -0.02685381207, 0.005188327932, -0.0008010195606,
                                           7.853867235e-5};
inline constexpr double kErfFarFloat[] = {-0.0003326937881, -1.127122481,  -0.6380935953,
                                          -0.1031479429,    0.02185629916, -0.002951873549,
                                          0.0001867766565};
inline constexpr double kErfNearDouble[] = {
    0.12837916709551256,     -0.3761263890318352,     0.112837916709442,
    -0.026866170643113415,   0.005223977606130842,    -0.0008548325929766244,
    0.0001205529358693695,   -1.4924712439534814e-05, 1.6447132699786621e-06,
    -1.6206318752969208e-07, 1.3710988704190523e-08,  -7.779462971761597e-10};
inline constexpr double kErfFarDouble[] = {
    -5.028384650687624e-07,  -1.1283740895712047,    -0.6366436277235153,    -0.10270344035854066,
    0.018990180135496394,    0.00041062659365913534, -0.001915942527350908,  0.0007706430778959566,
    -0.00013505065652865626, -2.026632336211804e-05, 2.282229444035809e-05,  -8.667077315915955e-06,
    2.135651277322396e-06,   -3.732971117829013e-07, 4.6421980134527815e-08, -3.934164343540809e-09,
    2.044902760687549e-10,   -4.928451988059216e-12};
// From here on erf is 1 to the last bit, by format.
inline constexpr double kErfIsOne[] = {4.05, 5.95};

template <FormulaBuilder F>
Value<F> erf(const F& f, const Value<F>& x) {
  using Coefficients = std::span<const double>;
  const bool is_double = f.format.is_double;
  const Value<F> a = at_most(f, f.magnitude(x), f.real(kErfIsOne[is_double]));
  const Value<F> p =
      polynomial(f, f.multiply(a, a), is_double ? Coefficients(kErfNearDouble) : kErfNearFloat);
  const Value<F> q = polynomial(f, a, is_double ? Coefficients(kErfFarDouble) : kErfFarFloat);
  const Value<F> tail = f.subtract(f.real(1), normal_exp(f, q));
  // Not a + a p: a p is subnormal for the smallest a.
  const Value<F> near = f.multiply(a, f.add(p, f.real(1)));
  return f.with_sign_of(f.choose(f.less(f.real(1), a), tail, near), x);
}

}  // namespace kiln::codegen::formulas
