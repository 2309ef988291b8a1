// Elements as the numbers that are computed with: halves as float32, subnormals as zeros.
#pragma once

#include <kiln/array.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace kiln::testing {

template <class T>
T flushed(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::fabs(x) < std::numeric_limits<T>::min()) return std::copysign(T{0}, x);
  }
  return x;
}

inline float value_of(float16 x) {
  const int exponent = (x.bits >> 10) & 31, fraction = x.bits & 1023;
  float value = std::ldexp(static_cast<float>(exponent == 0 ? fraction : fraction + 1024),
                           (exponent == 0 ? 1 : exponent) - 25);
  if (exponent == 31) value = fraction == 0 ? INFINITY : NAN;
  return (x.bits & 0x8000) != 0 ? -value : value;
}
inline float value_of(bfloat16 x) {
  return flushed(std::bit_cast<float>(std::uint32_t{x.bits} << 16));
}
template <class T>
T value_of(T x) {
  return flushed(x);
}

template <class T>
T stored(T x) {
  return flushed(x);
}
template <class T>
  requires std::is_same_v<T, float16>
T stored(float x) {
  const std::uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  x = std::fabs(x);
  if (std::isnan(x)) return {0x7e00};
  if (x >= 65520) return {static_cast<std::uint16_t>(sign | 0x7c00)};
  const int exponent = x == 0 ? -14 : std::max(std::ilogb(x), -14);
  // The hidden bit of a normal number, 1024 units, raises the exponent by one.
  const auto units = static_cast<int>(std::nearbyint(std::ldexp(x, 10 - exponent)));
  return {static_cast<std::uint16_t>(sign | (((exponent + 14) << 10) + units))};
}
template <class T>
  requires std::is_same_v<T, bfloat16>
T stored(float x) {
  if (std::isnan(x)) return {0x7fc0};
  const auto bits = std::bit_cast<std::uint32_t>(flushed(x));
  const std::uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return {static_cast<std::uint16_t>(rounded)};
}

}  // namespace kiln::testing
