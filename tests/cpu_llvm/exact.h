// The functions in the C library's wider arithmetic, and how far a result is from them.
#pragma once

#include "tests/cpu_llvm/compiled_math.h"

#include <cmath>
#include <limits>

namespace cpu_llvm_test {

/// In double, which is exact enough for float32; y is read by Pow alone.
double exact_in_double(Math function, double x, double y);
/// In long double, for float64.
long double exact_in_long_double(Math function, long double x, long double y);

/// Units in the last place of T between a result and the exact value. What is subnormal in T counts
/// as zero. Infinity when one is NaN or infinite and the other is not.
double ulps(float got, double exact);
double ulps(double got, long double exact);

/// x, or a zero of its sign if it is subnormal.
template <class T>
T flushed(T x) {
  return std::fabs(x) < std::numeric_limits<T>::min() ? std::copysign(T(0), x) : x;
}

}  // namespace cpu_llvm_test
