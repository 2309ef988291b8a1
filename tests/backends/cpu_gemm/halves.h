// Numbers of float16 and bfloat16 for the tests of the native GEMM.
#pragma once

#include "backends/cpu/gemm/micro_kernel.h"
#include "tests/backends/cpu_gemm/tiles.h"

#include <bit>
#include <cmath>

#include <xmmintrin.h>

namespace kiln::test {

using cpu::BFloat16Bits;
using cpu::Float16Bits;

/// Flushes subnormal operands and results for a scope, as the threads of the cpu backend do.
class ScopedFlush {
 public:
  ScopedFlush() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | 0x8040); }
  ~ScopedFlush() { _mm_setcsr(saved_); }
  ScopedFlush(const ScopedFlush&) = delete;
  ScopedFlush& operator=(const ScopedFlush&) = delete;

 private:
  unsigned saved_;
};

inline bool is_subnormal_float32(BFloat16Bits x) { return (x.bits & 0x7f80) == 0; }
inline bool is_subnormal_float32(Float16Bits x) { return (x.bits & 0x7fff) == 0; }

inline float value_of(BFloat16Bits x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}

inline float value_of(Float16Bits x) {
  const int exponent = x.bits >> 10 & 31, mantissa = x.bits & 1023;
  const float sign = x.bits & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31) return mantissa == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
}

constexpr std::uint16_t infinity_of(BFloat16Bits) { return 0x7f80; }
constexpr std::uint16_t infinity_of(Float16Bits) { return 0x7c00; }

/// The nearest Half, by binary search among the positive ones in the order of their bits; of two
/// equally near ones the even one. Infinity from half a step beyond the last finite value.
template <class Half>
std::uint16_t rounded(float value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const std::uint16_t infinity = infinity_of(Half{});
  const long double wanted = std::fabs(static_cast<long double>(value));
  const auto held = [&](std::uint32_t bits) -> long double {
    if (bits < infinity) return value_of(Half{static_cast<std::uint16_t>(bits)});
    const long double last = value_of(Half{static_cast<std::uint16_t>(infinity - 1)});
    return last + (last - value_of(Half{static_cast<std::uint16_t>(infinity - 2)}));
  };
  std::uint32_t low = 0, high = infinity;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (held(middle) <= wanted ? low : high) = middle;
  }
  const long double down = wanted - held(low), up = held(high) - wanted;
  const bool takes_high = up < down || (up == down && high % 2 == 0);
  return static_cast<std::uint16_t>(sign | (takes_high ? high : low));
}

template <class Half>
std::vector<Half> half_draws(std::int64_t count, unsigned seed) {
  std::vector<Half> halves;
  for (const float x : draws<float>(count, seed)) halves.push_back({rounded<Half>(x)});
  return halves;
}

template <class Half>
std::vector<float> values_of(const std::vector<Half>& halves) {
  std::vector<float> values;
  for (const Half x : halves) values.push_back(value_of(x));
  return values;
}

/// Numbers of all magnitudes, infinities and NaN.
template <class Half>
std::vector<Half> any_halves(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<Half> halves(at(count));
  for (Half& half : halves) half.bits = static_cast<std::uint16_t>(generator());
  return halves;
}

}  // namespace kiln::test
