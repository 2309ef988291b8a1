// The math functions in the C library's wider arithmetic, and the error of a result in ulps.
#pragma once

#include "tests/backends/cpu_llvm/compiled_math.h"

#include <cmath>
#include <limits>

namespace cpu_llvm_test {

/// The function in double, which is exact enough for float32; only Pow reads y.
double exact_in_double(Math function, double x, double y);
/// The function in long double, for float64.
long double exact_in_long_double(Math function, long double x, long double y);

/// Units in the last place of T between a result and the exact value. A subnormal of T counts as
/// zero. Infinity when one is NaN or infinite and the other is not.
double ulps(float got, double exact);
double ulps(double got, long double exact);

/// x, or a zero of its sign if it is subnormal.
template <class T>
T flushed(T x) {
  return std::fabs(x) < std::numeric_limits<T>::min() ? std::copysign(T(0), x) : x;
}

}  // namespace cpu_llvm_test
