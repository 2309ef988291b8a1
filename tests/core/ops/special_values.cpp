// Lists the special values of each dtype, and compares arrays by bits.
#include "tests/core/ops/special_values.h"

#include "core/types/text.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kiln::test {
namespace {

double smallest_normal(DType dtype) {
  if (dtype == DType::Float16) return 0x1p-14;
  return dtype == DType::Float64 ? 0x1p-1022 : 0x1p-126;
}

/// Writes subnormals by their bits, since a conversion would flush them.
Array special_floats(DType dtype) {
  const double infinity = std::numeric_limits<double>::infinity();
  double largest = std::numeric_limits<double>::max();
  if (dtype == DType::Float32) largest = std::numeric_limits<float>::max();
  if (dtype == DType::Float16) largest = 65504;
  if (dtype == DType::BFloat16) largest = 0x1.FEp127;
  std::vector<double> grid{0.0, -0.0, std::numeric_limits<double>::quiet_NaN()};
  for (double value : {smallest_normal(dtype), 1.0, largest, infinity}) {
    grid.insert(grid.end(), {value, -value});
  }
  const Array normal = Array(grid).astype(dtype);
  Array all = Array::zeros({normal.size() + 2}, dtype);
  auto* bytes = static_cast<std::byte*>(all.data());
  std::copy_n(static_cast<const std::byte*>(normal.data()), normal.bytes(), bytes);
  // Little endian: the last bit of the significand, and the sign.
  bytes[normal.bytes()] = bytes[normal.bytes() + dtype_bytes(dtype)] = std::byte{1};
  bytes[all.bytes() - 1] = std::byte{0x80};
  return all;
}

/// -1 is the largest value of an unsigned dtype.
Array special_integers(DType dtype) {
  const auto bits = static_cast<int>(dtype_bytes(dtype) * 8);
  const std::int64_t smallest = std::numeric_limits<std::int64_t>::min() >> (64 - bits);
  return Array(std::vector<std::int64_t>{0, 1, -1, 2, smallest, -(smallest + 1)}).astype(dtype);
}

void copy_element(const Array& from, std::size_t i, Array& to, std::size_t j) {
  const std::size_t size = dtype_bytes(from.dtype());
  std::copy_n(static_cast<const std::byte*>(from.data()) + i * size, size,
              static_cast<std::byte*>(to.data()) + j * size);
}

/// The index of the first element that differs by bits; -1: none.
std::int64_t first_difference(const Array& a, const Array& b) {
  const std::size_t size = dtype_bytes(a.dtype());
  const auto* x = static_cast<const std::byte*>(a.data());
  const auto* y = static_cast<const std::byte*>(b.data());
  const std::vector<double> wide_a = doubles(a), wide_b = doubles(b);
  for (std::size_t i = 0; i < wide_a.size(); ++i) {
    if (std::equal(x + i * size, x + (i + 1) * size, y + i * size)) continue;
    const double p = wide_a[i], q = wide_b[i];
    const double tiny = is_float(a.dtype()) ? smallest_normal(a.dtype()) : 0;
    const bool zeros = std::fabs(p) < tiny && std::fabs(q) < tiny;
    if (is_float(a.dtype()) && std::isnan(p) && std::isnan(q)) continue;
    if (zeros && std::signbit(p) == std::signbit(q)) continue;
    return static_cast<std::int64_t>(i);
  }
  return -1;
}

}  // namespace

Array special_values(DType dtype) {
  if (dtype == DType::Bool) return Array(std::vector<std::int64_t>{0, 1}).astype(dtype);
  return is_float(dtype) ? special_floats(dtype) : special_integers(dtype);
}

std::vector<Array> all_combinations(const std::vector<DType>& dtypes, int random,
                                    std::mt19937_64& generator) {
  std::vector<Array> specials, feeds;
  std::size_t combinations = 1;
  for (DType dtype : dtypes) {
    specials.push_back(special_values(dtype));
    combinations *= static_cast<std::size_t>(specials.back().size());
  }
  std::size_t stride = 1;
  for (std::size_t v = 0; v < dtypes.size(); ++v) {
    const std::size_t count = combinations + static_cast<std::size_t>(random);
    const ir::Type type{dtypes[v], {static_cast<std::int64_t>(count)}};
    Array feed = random_array(generator, type, is_float(dtypes[v]) ? -4 : 0, 4);
    const auto size = static_cast<std::size_t>(specials[v].size());
    for (std::size_t i = 0; i < combinations; ++i) {
      copy_element(specials[v], i / stride % size, feed, i);
    }
    stride *= size;
    feeds.push_back(std::move(feed));
  }
  return feeds;
}

Array repeated_specials(const ir::Type& type, std::mt19937_64& generator) {
  Array array = random_array(generator, type, 0, 3);
  const Array specials = special_values(type.dtype);
  const auto size = static_cast<std::size_t>(specials.size());
  const std::size_t offset = generator() % size;
  for (std::size_t i = 0; i < static_cast<std::size_t>(array.size()); ++i) {
    copy_element(specials, (i + offset) % size, array, i);
  }
  return array;
}

std::string bit_difference(const Array& left, const Array& right) {
  if (left.dtype() != right.dtype() || left.dims() != right.dims()) {
    return text(left.dtype(), "[", join_text(left.dims(), ","), "] and ", right.dtype(), "[",
                join_text(right.dims(), ","), "]");
  }
  const std::int64_t at = first_difference(left, right);
  if (at < 0) return "";
  const auto i = static_cast<std::size_t>(at);
  return text("element ", at, ": ", doubles(left)[i], " and ", doubles(right)[i]);
}

}  // namespace kiln::test
