// Arithmetic of sizes in 64 bits: ValueError of the K call that runs instead of a wrapped result.
#pragma once

#include <cstdint>

namespace kiln::ir::checked {

/// Names the function and the line of the current origin.
[[noreturn]] void refuse(const char* fact);

[[noreturn]] inline void overflow() { refuse("a dimension leaves 64 bits"); }

inline std::int64_t add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) overflow();
  return sum;
}

inline std::int64_t mul(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) overflow();
  return result;
}

inline std::int64_t floor_div_int(std::int64_t a, std::int64_t b) {
  if (b == 0) refuse("a dimension is divided by zero");
  if (b == -1) return mul(a, -1);
  const std::int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

}  // namespace kiln::ir::checked
