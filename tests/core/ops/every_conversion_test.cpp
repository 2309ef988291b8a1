// Tests conversions of float32 to float16 and bfloat16 on the tested backend, whose hardware may do
// them, beside integer operations on the bits.
#include "tests/support/catch.h"
#include "tests/core/ops/evaluate.h"

#include "core/ops/build.h"
#include "core/types/half.h"

#include <bit>
#include <cmath>
#include <limits>

using namespace kiln;
using namespace kiln::test;

namespace {

constexpr std::int64_t kPatterns = std::int64_t{1} << 32;

/// Of float16 or bfloat16. A subnormal float32 counts as zero of its sign.
std::uint16_t converted(float value, DType dtype) {
  if (std::fabs(value) < std::numeric_limits<float>::min()) value = std::copysign(0.f, value);
  const auto wide = static_cast<double>(value);
  return dtype == DType::Float16 ? float16_of_double(wide) : bfloat16_of_double(wide);
}

/// The bits of a NaN are unspecified.
bool is_nan(std::uint16_t bits, DType dtype) {
  return std::isnan(dtype == DType::Float16 ? float16_to_float(bits) : bfloat16_to_float(bits));
}

/// Converts the patterns first, first + stride, ..; returns the number of those that differ.
int differences(std::int64_t first, std::int64_t stride, std::int64_t count, DType dtype) {
  Array x = Array::zeros({count}, DType::Float32);
  const auto patterns = x.as<float>();
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = static_cast<std::uint32_t>(first + i * stride);
    patterns[static_cast<std::size_t>(i)] = std::bit_cast<float>(bits);
  }
  const ir::Value parameter = placeholder(type_of(x));
  const Array y = evaluate({parameter}, {ir::cast(parameter, dtype)}, {x})[0];
  const auto* found = static_cast<const std::uint16_t*>(y.data());
  int different = 0;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const std::uint16_t wanted = converted(patterns[i], dtype);
    const bool is_equal = is_nan(wanted, dtype) ? is_nan(found[i], dtype) : found[i] == wanted;
    if (is_equal) continue;
    if (different++ == 0) {
      UNSCOPED_INFO(std::bit_cast<std::uint32_t>(patterns[i])
                    << " gives " << found[i] << ", not " << wanted);
    }
  }
  return different;
}

}  // namespace

TEST_CASE("conversions: float32 to halves, all exponents") {
  constexpr std::int64_t kStride = 65537;  // a prime: all low bits occur
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    CHECK(differences(0, kStride, kPatterns / kStride, dtype) == 0);
  }
}

TEST_CASE("conversions: every float32 to halves", "[.every_float32]") {
  constexpr std::int64_t kCount = std::int64_t{1} << 24;
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    for (std::int64_t first = 0; first < kPatterns; first += kCount) {
      INFO("from pattern " << first);
      CHECK(differences(first, 1, kCount, dtype) == 0);
    }
  }
}
