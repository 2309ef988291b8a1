// The semantics of casts in core/ops/op.h, as long double arithmetic. No code of Kiln converts a
// number here.
#include "tests/core/rewrite/plain_casts.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

namespace kiln::test {
namespace {

static_assert(std::numeric_limits<long double>::digits == 64,
              "every element of every dtype has an exact long double");

/// Binary floats: a significand of `digits` bits, normal from 2^lowest up to `largest`.
struct FloatFormat {
  int digits, lowest;
  long double largest;
  bool flushes;  // subnormals count as zeros
};

FloatFormat float_format(DType dtype) {
  switch (dtype) {
    case DType::Float16: return {11, -14, 65504.0L, false};
    case DType::BFloat16: return {8, -126, 0x1.FEp127L, true};
    case DType::Float32: return {24, -126, 0x1.FFFFFEp127L, true};
    default: return {53, -1022, 0x1.FFFFFFFFFFFFFp1023L, true};
  }
}

int width(DType dtype) { return static_cast<int>(dtype_bytes(dtype) * 8); }
bool is_signed(DType dtype) { return info(dtype).kind == DTypeKind::Signed; }
long double lowest_integer(DType dtype) {
  return is_signed(dtype) ? -std::ldexp(1.0L, width(dtype) - 1) : 0.0L;
}
long double highest_integer(DType dtype) {
  return std::ldexp(1.0L, width(dtype) - (is_signed(dtype) ? 1 : 0)) - 1;
}

/// Rounds to nearest even, once; too large is infinity.
long double to_float(long double x, DType dtype) {
  const FloatFormat format = float_format(dtype);
  if (!std::isfinite(x) || x == 0) return x;
  int exponent = 0;
  std::frexp(x, &exponent);  // |x| in [2^(exponent-1), 2^exponent)
  const int last = std::max(exponent - 1, format.lowest) - (format.digits - 1);
  const long double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -last)), last);
  if (std::fabs(rounded) > format.largest) {
    return std::copysign(std::numeric_limits<long double>::infinity(), x);
  }
  const bool tiny = std::fabs(rounded) < std::ldexp(1.0L, format.lowest);
  return tiny && format.flushes ? std::copysign(0.0L, x) : rounded;
}

/// Wraps two's complement: the representative of x modulo 2^width.
long double wrapped(long double x, DType dtype) {
  const long double modulus = std::ldexp(1.0L, width(dtype));
  long double rest = std::fmod(x, modulus);
  if (rest < lowest_integer(dtype)) rest += modulus;
  if (rest > highest_integer(dtype)) rest -= modulus;
  return rest + 0.0L;  // integers have no -0
}

template <class T>
void append(std::vector<std::byte>& bytes, T number) {
  const auto* first = reinterpret_cast<const std::byte*>(&number);
  bytes.insert(bytes.end(), first, first + sizeof number);
}

/// The bits of a float of 16 bits. REQUIRES: x is one of its values, or subnormal.
std::uint16_t half_bits(long double x, DType dtype) {
  const FloatFormat format = float_format(dtype);
  const int stored = format.digits - 1;
  const std::uint32_t sign = std::signbit(x) ? 0x8000 : 0;
  const std::uint32_t top = (0x7fffu >> stored) << stored;  // exponent of infinity and NaN
  if (std::isnan(x)) return static_cast<std::uint16_t>(sign | top | (1u << (stored - 1)));
  if (std::isinf(x)) return static_cast<std::uint16_t>(sign | top);
  const long double magnitude = std::fabs(x);
  if (magnitude < std::ldexp(1.0L, format.lowest)) {
    const long double quanta = std::ldexp(magnitude, stored - format.lowest);
    return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(quanta));
  }
  int exponent = 0;
  const long double fraction = std::frexp(magnitude, &exponent);
  const auto significand = static_cast<std::uint32_t>(std::ldexp(fraction, format.digits));
  const auto biased = static_cast<std::uint32_t>(exponent - format.lowest);
  return static_cast<std::uint16_t>(sign | ((biased << stored) + (significand - (1u << stored))));
}

/// Appends x as one element. REQUIRES: x is a value of the dtype, or a subnormal of a float.
void append_element(std::vector<std::byte>& bytes, long double x, DType dtype) {
  switch (dtype) {
    case DType::Bool: return append(bytes, static_cast<std::uint8_t>(x != 0));
    case DType::Int8: return append(bytes, static_cast<std::int8_t>(x));
    case DType::Int16: return append(bytes, static_cast<std::int16_t>(x));
    case DType::Int32: return append(bytes, static_cast<std::int32_t>(x));
    case DType::Int64: return append(bytes, static_cast<std::int64_t>(x));
    case DType::UInt8: return append(bytes, static_cast<std::uint8_t>(x));
    case DType::UInt16: return append(bytes, static_cast<std::uint16_t>(x));
    case DType::UInt32: return append(bytes, static_cast<std::uint32_t>(x));
    case DType::UInt64: return append(bytes, static_cast<std::uint64_t>(x));
    case DType::Float16:
    case DType::BFloat16: return append(bytes, half_bits(x, dtype));
    case DType::Float32: return append(bytes, static_cast<float>(x));
    case DType::Float64: return append(bytes, static_cast<double>(x));
  }
}

/// Appends ties of every float format, and their neighbours in the formats that are wider: near 1,
/// at the ends of the exponents of the format and of the integers, where integers have more digits
/// than float64.
void append_near_ties(std::vector<long double>& all) {
  for (const DType dtype : {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64}) {
    const FloatFormat format = float_format(dtype);
    const int highest = std::ilogb(format.largest);
    for (const int power : {format.lowest - 1, format.lowest, -1, 0, 15, 30, 31, 32, 52, 53, 54, 62,
                            63, 64, highest}) {
      if (power < format.lowest - 1 || power > highest) continue;
      // Subnormals have the last bit of the smallest normal numbers.
      const int half = std::max(power, format.lowest) - format.digits;
      for (const long double steps : {0.0L, 1.0L, 2.0L, 5.0L, -1.0L}) {
        const long double tie = std::ldexp(1.0L, power) + std::ldexp(2 * steps + 1, half);
        for (const int bits : {0, 24, 53, 63}) {
          const long double near = std::ldexp(1.0L, bits == 0 ? 0 : power - bits);
          all.insert(all.end(), {tie, tie - near, tie + near});
        }
      }
    }
  }
}

/// Whether x is below the smallest normal number of a format and rounds to it: the semantics leave
/// open whether such a result is flushed before it is rounded.
bool rounds_to_smallest_normal(long double x) {
  const auto is_limit = [&](DType dtype) {
    const FloatFormat format = float_format(dtype);
    const long double normal = std::ldexp(1.0L, format.lowest);
    return format.flushes && x < normal && x >= normal - std::ldexp(normal, -format.digits);
  };
  return is_limit(DType::BFloat16) || is_limit(DType::Float32) || is_limit(DType::Float64);
}

/// Numbers around every limit of every dtype, ties of roundings, halves, subnormals.
std::vector<long double> numbers() {
  std::vector<long double> all{0.0L,   0.3L,   0.5L,     0.75L,    1.0L,     1.5L,     2.0L,
                               2.5L,   3.0L,   5.0L,     7.0L,     44.0L,    100.0L,   200.0L,
                               255.5L, 300.0L, 1000.25L, 65503.0L, 65519.0L, 65520.0L, 70000.0L,
                               1e10L,  1e19L,  1e20L,    1e30L,    1e300L};
  for (const int bits : {7, 8, 9, 11, 12, 15, 16, 24, 25, 31, 32, 53, 54, 63, 64}) {
    const long double power = std::ldexp(1.0L, bits);
    all.insert(all.end(), {power, power - 1, power + 1, power - 0.5L, power + 3});
  }
  for (const DType dtype : {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64}) {
    const FloatFormat format = float_format(dtype);
    const long double normal = std::ldexp(1.0L, format.lowest);
    const long double subnormal = std::ldexp(normal, 1 - format.digits);
    all.insert(all.end(), {normal, subnormal, 3 * subnormal, normal / 2, format.largest});
  }
  append_near_ties(all);
  all.erase(std::remove_if(all.begin(), all.end(), rounds_to_smallest_normal), all.end());
  all.push_back(std::numeric_limits<long double>::infinity());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const std::size_t count = all.size();
  for (std::size_t i = 0; i < count; ++i) all.push_back(-all[i]);
  all.push_back(std::numeric_limits<long double>::quiet_NaN());
  return all;
}

Grid grid_of(DType dtype) {
  std::vector<std::byte> bytes;
  std::vector<long double> values;
  for (const long double x : numbers()) {
    if (is_float(dtype)) {
      const FloatFormat format = float_format(dtype);
      const long double quantum = std::ldexp(1.0L, format.lowest + 1 - format.digits);
      const bool subnormal = std::fabs(x) < std::ldexp(1.0L, format.lowest);
      const bool is_held =
          subnormal ? std::fmod(x, quantum) == 0 : std::isnan(x) || to_float(x, dtype) == x;
      if (!is_held) continue;
      append_element(bytes, x, dtype);
      values.push_back(to_float(x, dtype));
      continue;
    }
    const bool fits = dtype == DType::Bool
                          ? x == 0 || x == 1
                          : x >= lowest_integer(dtype) && x <= highest_integer(dtype);
    if (!fits || x != std::trunc(x)) continue;
    append_element(bytes, x, dtype);
    values.push_back(x + 0.0L);
  }
  const auto count = static_cast<std::int64_t>(values.size());
  return {Array::copy_of(bytes.data(), {count}, dtype), std::move(values)};
}

}  // namespace

long double one_cast(long double x, DType from, DType to) {
  if (to == DType::Bool) return x != 0 ? 1 : 0;  // NaN is true
  if (is_float(to)) return to_float(x, to);
  if (!is_float(from)) return wrapped(x, to);
  if (std::isnan(x)) return 0;
  return std::fmin(std::fmax(std::trunc(x), lowest_integer(to)), highest_integer(to)) + 0.0L;
}

const std::vector<Grid>& grids() {
  static const std::vector<Grid> all = [] {
    std::vector<Grid> by_dtype;
    for (int i = 0; i < kDTypeCount; ++i) by_dtype.push_back(grid_of(static_cast<DType>(i)));
    return by_dtype;
  }();
  return all;
}

long double element(const Array& array, std::size_t i) {
  const auto* bytes = static_cast<const std::byte*>(array.data()) + i * dtype_bytes(array.dtype());
  const auto read = [&](auto number) {
    std::memcpy(&number, bytes, sizeof number);
    return static_cast<long double>(number);
  };
  const DType dtype = array.dtype();
  switch (dtype) {
    case DType::Bool: return read(std::uint8_t{});
    case DType::Int8: return read(std::int8_t{});
    case DType::Int16: return read(std::int16_t{});
    case DType::Int32: return read(std::int32_t{});
    case DType::Int64: return read(std::int64_t{});
    case DType::UInt8: return read(std::uint8_t{});
    case DType::UInt16: return read(std::uint16_t{});
    case DType::UInt32: return read(std::uint32_t{});
    case DType::UInt64: return read(std::uint64_t{});
    case DType::Float32: return to_float(read(float{}), dtype);
    case DType::Float64: return to_float(read(double{}), dtype);
    case DType::Float16:
    case DType::BFloat16: break;
  }
  const auto bits = static_cast<std::uint32_t>(read(std::uint16_t{}));
  const FloatFormat format = float_format(dtype);
  const int stored = format.digits - 1;
  const std::uint32_t exponent = (bits & 0x7fff) >> stored, rest = bits & ((1u << stored) - 1);
  long double magnitude = 0;
  if (exponent == (0x7fffu >> stored)) {
    magnitude = rest != 0 ? std::numeric_limits<long double>::quiet_NaN()
                          : std::numeric_limits<long double>::infinity();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<long double>(rest), format.lowest - stored);
  } else {
    magnitude = std::ldexp(static_cast<long double>(rest + (1u << stored)),
                           format.lowest - stored + static_cast<int>(exponent) - 1);
  }
  return to_float((bits & 0x8000) != 0 ? -magnitude : magnitude, dtype);
}

}  // namespace kiln::test
