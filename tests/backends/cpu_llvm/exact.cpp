// One generic list of functions, and one generic distance.
#include "tests/backends/cpu_llvm/exact.h"

#include <cmath>
#include <limits>

namespace cpu_llvm_test {
namespace {

template <class Wide>
Wide exact(Math function, Wide x, Wide y) {
  switch (function) {
    case Math::Exp:
    case Math::ExpOfNonpositive: return std::exp(x);
    case Math::Expm1: return std::expm1(x);
    case Math::Log: return std::log(x);
    case Math::Log1p: return std::log1p(x);
    case Math::Tanh: return std::tanh(x);
    case Math::Sigmoid: return 1 / (1 + std::exp(-x));
    case Math::Erf: return std::erf(x);
    case Math::Atan: return std::atan(x);
    case Math::Sin: return std::sin(x);
    case Math::Cos: return std::cos(x);
    case Math::Pow: return std::pow(x, y);
  }
  return 0;
}

template <class T, class Wide>
double distance(T got, Wide exact) {
  const double far = std::numeric_limits<double>::infinity();
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : far;
  const T nearest = static_cast<T>(exact);
  constexpr T kSmallest = std::numeric_limits<T>::min();
  if (std::fabs(nearest) < kSmallest) {
    // The smallest normal number is one rounding away from zero.
    const bool same_sign = std::signbit(got) == std::signbit(exact);
    return same_sign && std::fabs(got) <= kSmallest ? 0 : far;
  }
  if (std::isinf(nearest) || std::isinf(got)) return nearest == got ? 0 : far;
  int exponent;
  std::frexp(exact, &exponent);
  const Wide unit = std::ldexp(Wide(1), exponent - std::numeric_limits<T>::digits);
  return static_cast<double>(std::fabs(static_cast<Wide>(got) - exact) / unit);
}

}  // namespace

double exact_in_double(Math function, double x, double y) { return exact(function, x, y); }
long double exact_in_long_double(Math function, long double x, long double y) {
  return exact(function, x, y);
}

double ulps(float got, double exact) { return distance(got, exact); }
double ulps(double got, long double exact) { return distance(got, exact); }

}  // namespace cpu_llvm_test
