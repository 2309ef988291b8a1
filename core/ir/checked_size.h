// 64-bit arithmetic on sizes that throws instead of wrapping.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace kiln::ir::checked {

/// Throws ValueError with the K function and line of current_origin().
[[noreturn]] void reject(const std::string& message);

[[noreturn]] inline void overflow() { reject("a dimension does not fit in 64 bits"); }

inline std::int64_t add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) overflow();
  return sum;
}

inline std::int64_t subtract(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) overflow();
  return difference;
}

inline std::int64_t mul(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) overflow();
  return result;
}

/// Multiplies a product of sizes by its next factor. A factor 0 makes it 0, whatever the others.
/// `overflows`: whether the factors so far are not 0 and their product does not fit.
inline void multiply(std::int64_t& product, std::int64_t factor, bool& overflows) {
  if (__builtin_mul_overflow(product, factor, &product)) {
    overflows = true;
    product = 1;  // not 0, which would hide the overflow
  }
  if (factor != 0) return;
  overflows = false;
  product = 0;
}

/// The number of elements of a tensor with these dims, 0 if one of them is 0. Throws ValueError
/// where it does not fit in 64 bits.
inline std::int64_t product(std::span<const std::int64_t> dims) {
  std::int64_t result = 1;
  bool overflows = false;
  for (const std::int64_t dim : dims) multiply(result, dim, overflows);
  if (overflows) overflow();
  return result;
}

/// a - b * (a / b rounded toward minus infinity), which fits although the product may not.
inline std::int64_t mod_int(std::int64_t a, std::int64_t b) {
  if (b == 0) reject("a dimension is divided by zero");
  if (b == -1) return 0;  // the remainder of INT64_MIN is undefined in C++
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/// a / b rounded toward minus infinity.
inline std::int64_t floor_div_int(std::int64_t a, std::int64_t b) {
  if (b == 0) reject("a dimension is divided by zero");
  if (b == -1) return mul(a, -1);
  const std::int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

}  // namespace kiln::ir::checked
