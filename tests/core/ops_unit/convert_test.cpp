// Tests casts between all dtypes on critical values: ends of ranges, ties, signed zeros, NaN,
// subnormals.
#include "tests/support/catch.h"

#include "tests/core/ops_unit/build_graph.h"

#include "core/ops/convert.h"
#include "core/types/half.h"

#include <bit>
#include <cmath>
#include <limits>

using namespace kiln;
using namespace kiln::ir;

namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

template <class To, class From>
To converted(DType from, From value, DType to) {
  REQUIRE(sizeof(From) == dtype_bytes(from));
  REQUIRE(sizeof(To) == dtype_bytes(to));
  To result{};
  convert_elements(from, reinterpret_cast<const std::byte*>(&value), to,
                   reinterpret_cast<std::byte*>(&result), 1);
  return result;
}

template <class To>
To of_double(double value, DType to) {
  return converted<To>(DType::Float64, value, to);
}

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

}  // namespace

TEST_CASE("casts: floats to integers truncate, saturate and take NaN as 0") {
  CHECK(of_double<std::int8_t>(2.9, DType::Int8) == 2);
  CHECK(of_double<std::int8_t>(-2.9, DType::Int8) == -2);
  CHECK(of_double<std::int8_t>(127.9, DType::Int8) == 127);
  CHECK(of_double<std::int8_t>(128, DType::Int8) == 127);
  CHECK(of_double<std::int8_t>(-129, DType::Int8) == -128);
  CHECK(of_double<std::int8_t>(kNaN, DType::Int8) == 0);
  CHECK(of_double<std::int16_t>(1e6, DType::Int16) == 32767);
  CHECK(of_double<std::int32_t>(kInf, DType::Int32) == std::numeric_limits<std::int32_t>::max());
  CHECK(of_double<std::int32_t>(-kInf, DType::Int32) == std::numeric_limits<std::int32_t>::min());
  CHECK(of_double<std::int64_t>(0x1p63, DType::Int64) == kMax);
  CHECK(of_double<std::int64_t>(-0x1p63, DType::Int64) == kMin);
  CHECK(of_double<std::int64_t>(0x1.fffffffffffffp62, DType::Int64) == kMax - 1023);
  CHECK(of_double<std::uint8_t>(-0.9, DType::UInt8) == 0);
  CHECK(of_double<std::uint8_t>(-5, DType::UInt8) == 0);
  CHECK(of_double<std::uint32_t>(4294967295.5, DType::UInt32) == 4294967295u);
  CHECK(of_double<std::uint64_t>(0x1p64, DType::UInt64) ==
        std::numeric_limits<std::uint64_t>::max());
  CHECK(of_double<std::uint64_t>(0x1p63, DType::UInt64) == 1ull << 63);
  CHECK(converted<std::int8_t>(DType::Float16, std::uint16_t{0xfc00}, DType::Int8) == -128);
  CHECK(converted<std::int8_t>(DType::BFloat16, std::uint16_t{0x7fc0}, DType::Int8) == 0);
}

TEST_CASE("casts: integers wrap") {
  const std::int64_t wide = 0x1234567890abcdef;
  CHECK(converted<std::int8_t>(DType::Int64, wide, DType::Int8) == static_cast<std::int8_t>(0xef));
  CHECK(converted<std::uint16_t>(DType::Int64, wide, DType::UInt16) == 0xcdef);
  CHECK(converted<std::uint64_t>(DType::Int8, std::int8_t{-1}, DType::UInt64) == ~0ull);
  CHECK(converted<std::int64_t>(DType::UInt64, ~0ull, DType::Int64) == -1);
  CHECK(converted<std::int32_t>(DType::UInt32, 0x80000000u, DType::Int32) ==
        std::numeric_limits<std::int32_t>::min());
  CHECK(converted<std::int64_t>(DType::UInt32, 0x80000000u, DType::Int64) == 0x80000000);
}

TEST_CASE("casts: a bool is whether a number differs from zero, and counts 0 or 1") {
  CHECK(of_double<std::uint8_t>(0.25, DType::Bool) == 1);
  CHECK(of_double<std::uint8_t>(kNaN, DType::Bool) == 1);
  CHECK(of_double<std::uint8_t>(-0.0, DType::Bool) == 0);
  CHECK(converted<std::uint8_t>(DType::Int64, kMin, DType::Bool) == 1);
  CHECK(converted<std::uint8_t>(DType::UInt16, std::uint16_t{256}, DType::Bool) == 1);
  CHECK(converted<float>(DType::Bool, std::uint8_t{1}, DType::Float32) == 1.0f);
  CHECK(converted<std::uint16_t>(DType::Bool, std::uint8_t{1}, DType::BFloat16) == 0x3f80);
  CHECK(converted<std::uint64_t>(DType::Bool, std::uint8_t{0}, DType::UInt64) == 0);
}

TEST_CASE("casts: narrower floats round to nearest even and overflow to infinity") {
  CHECK(of_double<float>(1 + 0x1p-24, DType::Float32) == 1.0f);
  CHECK(of_double<float>(1 + 0x3p-24, DType::Float32) == 1 + 0x1p-22f);
  CHECK(of_double<float>(1e39, DType::Float32) == std::numeric_limits<float>::infinity());
  CHECK(bits(of_double<float>(-0.0, DType::Float32)) == 0x80000000u);
  CHECK(std::isnan(of_double<float>(kNaN, DType::Float32)));
  const auto half = [](double value) { return of_double<std::uint16_t>(value, DType::Float16); };
  CHECK(half(1) == 0x3c00);
  CHECK(half(65504) == 0x7bff);
  CHECK(half(65519.99) == 0x7bff);
  CHECK(half(65520) == 0x7c00);
  CHECK(half(1 + 0x1p-11) == 0x3c00);
  CHECK(half(1 + 0x3p-11) == 0x3c02);
  CHECK(half(1 + 0x1p-11 + 0x1p-40) == 0x3c01);
  CHECK(half(0x1p-24) == 0x0001);
  CHECK(half(0x1p-25) == 0x0000);
  CHECK(half(-0x1p-26) == 0x8000);
  CHECK((half(kNaN) & 0x7fff) == 0x7e00);
  const auto brain = [](double value) { return of_double<std::uint16_t>(value, DType::BFloat16); };
  CHECK(brain(1) == 0x3f80);
  CHECK(brain(1 + 0x1p-8) == 0x3f80);
  CHECK(brain(1 + 0x3p-8) == 0x3f82);
  CHECK(brain(1 + 0x1p-8 + 0x1p-40) == 0x3f81);
  CHECK(brain(3.4e38) == 0x7f80);
  CHECK(brain(-kInf) == 0xff80);
  CHECK(brain(0x1p-126) == 0x0080);
}

TEST_CASE("casts: integers become floats with one rounding") {
  CHECK(converted<float>(DType::Int64, (1ll << 24) + 1, DType::Float32) == 0x1p24f);
  // Above a tie by one: through float64 it would round as the tie does.
  const std::int64_t above = (1ll << 62) + (1ll << 38) + 1;
  CHECK(converted<float>(DType::Int64, above, DType::Float32) == 0x1.000002p62f);
  CHECK(converted<float>(DType::Int64, above - 1, DType::Float32) == 0x1p62f);
  const auto brain = [](std::int64_t value) {
    return converted<std::uint16_t>(DType::Int64, value, DType::BFloat16);
  };
  const std::int64_t tie = (1ll << 62) + (1ll << 54);
  CHECK(brain(tie) == 0x5e80);
  CHECK(brain(tie + 1) == 0x5e81);
  CHECK(brain(tie - 1) == 0x5e80);
  CHECK(brain(-tie - 1) == 0xde81);
  CHECK(brain(kMin) == 0xdf00);
  CHECK(converted<std::uint16_t>(DType::UInt64, (1ull << 63) + (1ull << 55) + 1, DType::BFloat16) ==
        0x5f01);
  CHECK(converted<std::uint16_t>(DType::UInt64, ~0ull, DType::BFloat16) == 0x5f80);
  CHECK(converted<std::uint16_t>(DType::Int64, kMin, DType::Float16) == 0xfc00);
  CHECK(converted<double>(DType::UInt64, ~0ull, DType::Float64) == 0x1p64);
}

TEST_CASE("casts: subnormals count as zeros of their sign") {
  CHECK(bits(of_double<float>(1e-40, DType::Float32)) == 0);
  CHECK(bits(of_double<float>(-1e-40, DType::Float32)) == 0x80000000u);
  CHECK(of_double<float>(0x1p-126, DType::Float32) == 0x1p-126f);
  CHECK(converted<double>(DType::Float32, -0x1p-130f, DType::Float64) == 0);
  CHECK(std::signbit(converted<double>(DType::Float32, -0x1p-130f, DType::Float64)));
  CHECK(of_double<std::uint8_t>(5e-324, DType::Bool) == 0);
  CHECK(flushed(5e-324, DType::Float64) == 0);
  CHECK(flushed(1e-40, DType::Float32) == 0);
  // A bfloat16 has the exponents of a float32. One that rounds up to a normal float32 is normal.
  CHECK(converted<float>(DType::BFloat16, std::uint16_t{1}, DType::Float32) == 0);
  CHECK(converted<std::uint16_t>(DType::Float64, -0x1p-127, DType::BFloat16) == 0x8000);
  CHECK(converted<std::uint16_t>(DType::Float64, 0x1.ffffffffp-127, DType::BFloat16) == 0x0080);
  CHECK(flushed(0x1p-127, DType::BFloat16) == 0);
  // Subnormal float16 are normal as float32.
  CHECK(converted<float>(DType::Float16, std::uint16_t{1}, DType::Float32) == 0x1p-24f);
  CHECK(flushed(0x1p-24, DType::Float16) == 0x1p-24);
}

TEST_CASE("casts: every half but a subnormal bfloat16 survives a cast to float64 and back") {
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    const auto given = static_cast<std::uint16_t>(i);
    for (const DType dtype : {DType::Float16, DType::BFloat16}) {
      const auto wide = converted<double>(dtype, given, DType::Float64);
      const auto back = of_double<std::uint16_t>(wide, dtype);
      if (std::isnan(wide)) {
        REQUIRE(std::isnan(converted<double>(dtype, back, DType::Float64)));
      } else {
        const bool counts_as_zero = dtype == DType::BFloat16 && (given & 0x7f80) == 0;
        REQUIRE(back == (counts_as_zero ? given & 0x8000 : given));
      }
    }
  }
}

TEST_CASE("casts: more elements than a block are converted like single ones") {
  std::vector<std::int32_t> from(2000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::int32_t>(i) - 1000;
  std::vector<float> to(from.size());
  convert_elements(DType::Int32, reinterpret_cast<const std::byte*>(from.data()), DType::Float32,
                   reinterpret_cast<std::byte*>(to.data()), 2000);
  for (std::size_t i = 0; i < from.size(); ++i) REQUIRE(to[i] == static_cast<float>(from[i]));
}
