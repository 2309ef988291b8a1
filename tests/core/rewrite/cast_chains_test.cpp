// Compares chains of casts after simplification with one cast at a time, in long double arithmetic
// of this file. That follows the semantics in core/ops/op.h and shares no code with Kiln: neither
// convert_elements, which `reference` runs, nor Array::astype.
#include "core/module/print.h"
#include "core/ops/build.h"
#include "core/rewrite/rules.h"
#include "tests/support/catch.h"
#include "tests/core/ops/evaluate.h"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

namespace kiln::test {
namespace {

using ir::Value;

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

long double one_cast(long double x, DType from, DType to) {
  if (to == DType::Bool) return x != 0 ? 1 : 0;  // NaN is true
  if (is_float(to)) return to_float(x, to);
  if (!is_float(from)) return wrapped(x, to);
  if (std::isnan(x)) return 0;
  return std::fmin(std::fmax(std::trunc(x), lowest_integer(to)), highest_integer(to)) + 0.0L;
}

template <class T>
void append(std::vector<std::byte>& bytes, T element) {
  const auto* first = reinterpret_cast<const std::byte*>(&element);
  bytes.insert(bytes.end(), first, first + sizeof element);
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
  std::vector<long double> all{0.0L, 0.3L, 0.5L, 0.75L, 1.0L, 1.5L, 2.0L, 2.5L, 3.0L, 5.0L, 7.0L,
                               44.0L, 100.0L, 200.0L, 255.5L, 300.0L, 1000.25L, 65503.0L,
                               65519.0L, 65520.0L, 70000.0L, 1e10L, 1e19L, 1e20L, 1e30L, 1e300L};
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

/// The numbers that a dtype can hold, as elements and by their meaning: subnormals as zeros.
struct Grid {
  Array elements = Array();
  std::vector<long double> values;
};

Grid grid_of(DType dtype) {
  std::vector<std::byte> bytes;
  std::vector<long double> values;
  for (const long double x : numbers()) {
    if (is_float(dtype)) {
      const FloatFormat format = float_format(dtype);
      const long double quantum = std::ldexp(1.0L, format.lowest + 1 - format.digits);
      const bool subnormal = std::fabs(x) < std::ldexp(1.0L, format.lowest);
      const bool is_held = subnormal ? std::fmod(x, quantum) == 0
                                     : std::isnan(x) || to_float(x, dtype) == x;
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

const std::vector<Grid>& grids() {
  static const std::vector<Grid> all = [] {
    std::vector<Grid> by_dtype;
    for (int i = 0; i < kDTypeCount; ++i) by_dtype.push_back(grid_of(static_cast<DType>(i)));
    return by_dtype;
  }();
  return all;
}

using Chain = std::vector<DType>;

std::string name_of(const Chain& chain) {
  std::string name;
  for (const DType dtype : chain) {
    name += (name.empty() ? "" : " -> ") + std::string(dtype_name(dtype));
  }
  return name;
}

/// The element at i of the array, by its meaning.
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

bool same(long double a, long double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

/// Empty, or the first element of the chain that differs from one cast at a time.
std::string mismatch_of(const Chain& chain, const Array& found) {
  const std::vector<long double>& values = grids()[static_cast<std::size_t>(chain[0])].values;
  if (found.dtype() != chain.back()) return name_of(chain) + ": another dtype";
  if (static_cast<std::size_t>(found.size()) != values.size()) return name_of(chain) + ": size";
  for (std::size_t i = 0; i < values.size(); ++i) {
    long double want = values[i];
    for (std::size_t k = 1; k < chain.size(); ++k) want = one_cast(want, chain[k - 1], chain[k]);
    const long double got = element(found, i);
    if (same(want, got)) continue;
    std::ostringstream line;
    line.precision(21);
    line << name_of(chain) << " of " << values[i] << ": " << got << ", not " << want;
    return line.str();
  }
  return "";
}

/// Evaluates chains that begin with one dtype in one graph, after the passes of list 1.
void check_chains(const std::vector<Chain>& chains) {
  const Grid& grid = grids()[static_cast<std::size_t>(chains[0][0])];
  const Value x = placeholder(type_of(grid.elements));
  std::vector<Value> results;
  for (const Chain& chain : chains) {
    Value value = x;
    for (std::size_t k = 1; k < chain.size(); ++k) {
      // make, since ir::cast already leaves out a cast to the same dtype.
      value = ir::make(ir::Op::Cast, ir::CastAttrs{chain[k]}, {value});
    }
    results.push_back(value);
  }
  const std::vector<Array> found =
      evaluate({x}, results, {grid.elements}, tested_backend(), /*optimise=*/true);
  for (std::size_t i = 0; i < chains.size(); ++i) CHECK(mismatch_of(chains[i], found[i]) == "");
}

std::vector<DType> all_dtypes() {
  std::vector<DType> all;
  for (int i = 0; i < kDTypeCount; ++i) all.push_back(static_cast<DType>(i));
  return all;
}

TEST_CASE("casts: single casts follow the semantics of core/ops/op.h") {
  REQUIRE(std::fegetround() == FE_TONEAREST);
  for (const DType from : all_dtypes()) {
    std::vector<Chain> chains;
    for (const DType to : all_dtypes()) chains.push_back({from, to});
    check_chains(chains);
  }
}

TEST_CASE("casts: those of arrays and of folded constants follow the same semantics") {
  for (const DType from : all_dtypes()) {
    const Grid& grid = grids()[static_cast<std::size_t>(from)];
    const auto* bytes = static_cast<const std::byte*>(grid.elements.data());
    for (const DType to : all_dtypes()) {
      CHECK(mismatch_of({from, to}, grid.elements.astype(to)) == "");
      std::vector<std::byte> folded;
      std::vector<Value> casts;
      for (std::size_t i = 0; i < grid.values.size(); ++i) {
        const auto* first = bytes + i * dtype_bytes(from);
        const Value x = ir::constant({from, {}}, {first, first + dtype_bytes(from)});
        casts.push_back(ir::make(ir::Op::Cast, ir::CastAttrs{to}, {x}));
      }
      for (const Value& y : rewrite::Simplifier().simplify(casts)) {
        const auto& constant = y.node->as<ir::ConstantAttrs>();
        folded.insert(folded.end(), constant.data.bytes->begin(), constant.data.bytes->end());
      }
      const auto count = static_cast<std::int64_t>(grid.values.size());
      CHECK(mismatch_of({from, to}, Array::copy_of(folded.data(), {count}, to)) == "");
    }
  }
}

TEST_CASE("casts: every chain of two gives the values of one cast after the other") {
  int count = 0;
  for (const DType from : all_dtypes()) {
    for (const DType middle : all_dtypes()) {
      std::vector<Chain> chains;
      for (const DType to : all_dtypes()) chains.push_back({from, middle, to});
      check_chains(chains);
      count += static_cast<int>(chains.size());
    }
  }
  CHECK(count == kDTypeCount * kDTypeCount * kDTypeCount);
}

TEST_CASE("casts: chains of three and four give the values of one cast after the other") {
  std::mt19937_64 generator(6);
  const auto any = [&] { return static_cast<DType>(generator() % kDTypeCount); };
  for (int round = 0; round < 8; ++round) {
    for (const DType from : all_dtypes()) {
      std::vector<Chain> chains;
      for (int i = 0; i < 16; ++i) chains.push_back({from, any(), any(), any()});
      for (int i = 0; i < 4; ++i) chains.push_back({from, any(), any(), any(), any()});
      check_chains(chains);
    }
  }
}

/// Whether the rule merges the two casts.
bool merges(DType from, DType middle, DType to) {
  const Value x = placeholder({from, {3}});
  const Value inner = ir::make(ir::Op::Cast, ir::CastAttrs{middle}, {x});
  const Value both = ir::make(ir::Op::Cast, ir::CastAttrs{to}, {inner});
  const Value simplified = rewrite::Simplifier().simplify({both})[0];
  return simplified == x || simplified.node->operands[0] == x;
}

TEST_CASE("casts: chains through a wider dtype are merged where that is exact") {
  struct Row {
    DType from, middle, to;
    bool merged;
  };
  const Row rows[] = {
      {DType::Int16, DType::Float32, DType::UInt8, false},  // saturates, would wrap
      {DType::Int16, DType::Float32, DType::Int32, true},
      {DType::Int16, DType::Float32, DType::Float16, true},
      {DType::UInt8, DType::Float32, DType::Int8, false},
      {DType::UInt8, DType::Float32, DType::Int16, true},
      {DType::Bool, DType::Float32, DType::Int8, true},
      {DType::Int8, DType::Bool, DType::Int32, false},  // 7 becomes 1
      {DType::Int16, DType::Int64, DType::Int8, true},  // wraps both ways
      {DType::Float16, DType::Float32, DType::Int8, true},
      {DType::Float32, DType::Float64, DType::Float16, true},
      {DType::Float64, DType::Float32, DType::Float64, false},
      {DType::Int32, DType::Float32, DType::Int64, false},  // 24 bits of 32
      {DType::Int8, DType::UInt64, DType::Float32, false},
      {DType::Float32, DType::Float64, DType::Bool, true},
  };
  for (const Row& row : rows) {
    INFO(name_of({row.from, row.middle, row.to}));
    CHECK(merges(row.from, row.middle, row.to) == row.merged);
  }
}

}  // namespace
}  // namespace kiln::test
