// Converts float16 and bfloat16, which are storage types here, to float and back: by integer
// operations, rounded to nearest even.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace kiln {

inline float float16_to_float(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
}

/// Rounds a double to float16 in one step; a detour through float32 would round twice.
inline std::uint16_t float16_of_double(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000u : 0u;
  if (std::isnan(value)) return sign | 0x7e00u;
  const double magnitude = std::fabs(value);
  if (magnitude >= 65520.0) return sign | 0x7c00u;
  if (magnitude < 0x1p-14) {  // subnormal: a multiple of 2^-24
    return sign | static_cast<std::uint16_t>(std::nearbyint(magnitude * 0x1p24));
  }
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);  // in [0.5, 1)
  auto mantissa = static_cast<std::uint32_t>(std::nearbyint(fraction * 2048.0));
  if (mantissa == 2048) {
    mantissa = 1024;
    ++exponent;
  }
  return sign | static_cast<std::uint16_t>(((exponent + 14) << 10) + (mantissa - 1024));
}

inline float bfloat16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// Rounds a double to bfloat16 (8 bits of mantissa) in one step.
inline std::uint16_t bfloat16_of_double(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000u : 0u;
  if (std::isnan(value)) return sign | 0x7fc0u;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  if (std::isinf(magnitude)) return sign | 0x7f80u;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int step = std::max(exponent - 8, -133);  // one unit in the last place is 2^step
  const double units = std::nearbyint(std::ldexp(magnitude, -step));
  const double rounded = std::ldexp(units, step);
  if (rounded > 0x1.fep127) return sign | 0x7f80u;
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(rounded));
  return sign | static_cast<std::uint16_t>(bits >> 16);
}

}  // namespace kiln
