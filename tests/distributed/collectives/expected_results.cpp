// One loop for all dtypes, over elements as numbers.
#include "tests/distributed/collectives/expected_results.h"
#include "tests/distributed/collectives/plain_numbers.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <type_traits>

namespace kiln::testing {
namespace {

template <class V>
V combine(V a, V b, Combination combination) {
  if (combination == Combination::Sum || combination == Combination::Mean) {
    if constexpr (std::is_floating_point_v<V>) return flushed(a + b);
    else return static_cast<V>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
  const bool takes_greater = combination == Combination::Max;
  if constexpr (std::is_floating_point_v<V>) {
    if (std::isnan(a) || std::isnan(b)) return a + b;
    if (a == 0 && b == 0) return std::signbit(a) == takes_greater ? b : a;
  }
  return (a > b) == takes_greater ? a : b;
}

/// One leaf is itself; of more, the largest power of two of them below their number is the left.
template <class V>
V tree(std::span<const V> leaves, Combination combination) {
  if (leaves.size() == 1) return leaves[0];
  const std::size_t left = std::bit_floor(leaves.size() - 1);
  return combine(tree(leaves.first(left), combination), tree(leaves.subspan(left), combination),
                 combination);
}

template <class T>
Array combined_as(const std::vector<Array>& operands, Combination combination) {
  using V = decltype(value_of(T{}));
  Array result = operands[0];
  const auto to = result.as<T>();
  std::unique_ptr<V[]> leaves(new V[operands.size()]);
  for (std::size_t i = 0; i < to.size(); ++i) {
    for (std::size_t rank = 0; rank < operands.size(); ++rank) {
      leaves[rank] = value_of(operands[rank].as<T>()[i]);
    }
    V value = tree(std::span<const V>(leaves.get(), operands.size()), combination);
    if (combination == Combination::Mean) value = value / static_cast<V>(operands.size());
    to[i] = stored<T>(value);
  }
  return result;
}

std::int64_t product(const DimVector& dims, std::size_t begin, std::size_t end) {
  std::int64_t product = 1;
  for (std::size_t i = begin; i < end; ++i) product *= dims[i];
  return product;
}

Array with_dim(const Array& like, std::size_t axis, std::int64_t size) {
  std::vector<std::int64_t> dims(like.dims().begin(), like.dims().end());
  dims[axis] = size;
  return Array::zeros(dims, like.dtype());
}

/// Copies `count` elements of the axis, from number `from` of the source to `to` of the target.
void copy_along(const Array& source, std::int64_t from, Array& target, std::int64_t to,
                std::int64_t count, std::size_t axis) {
  const std::size_t rank = source.dims().size(), bytes = dtype_bytes(source.dtype());
  const std::int64_t inner = product(source.dims(), axis + 1, rank);
  const auto* const read = static_cast<const char*>(source.data());
  auto* const written = static_cast<char*>(target.data());
  const auto at = [&](const Array& array, std::int64_t outer, std::int64_t i) {
    return static_cast<std::size_t>((outer * array.dims()[axis] + i) * inner) * bytes;
  };
  for (std::int64_t outer = 0; outer < product(source.dims(), 0, axis); ++outer) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::memcpy(written + at(target, outer, to + i), read + at(source, outer, from + i),
                  static_cast<std::size_t>(inner) * bytes);
    }
  }
}

std::uint64_t hash(std::uint64_t x) {  // the finaliser of SplitMix64
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

template <class T>
Array operand_as(const std::vector<std::int64_t>& dims, std::uint64_t rank) {
  Array array = Array::zeros(dims, DTypeOf<T>::value);
  using V = decltype(value_of(T{}));
  constexpr double kMin = std::is_same_v<T, double>    ? 0x1p-1022
                          : std::is_same_v<T, float16> ? 0x1p-14
                                                       : 0x1p-126;
  const double special[] = {0., -0., INFINITY, -INFINITY, NAN, kMin, -kMin / 4, kMin * 1.5};
  const auto elements = array.as<T>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::uint64_t bits = hash((i % 5 == 4 ? 0 : rank + 1) * 0x9e3779b97f4a7c15u + i);
    if constexpr (std::is_integral_v<T>) {
      elements[i] = static_cast<T>(std::is_same_v<T, bool> ? bits & 1 : bits);
    } else {
      double x = (static_cast<double>(bits >> 11) * 0x1p-52 - 1) * (i % 3 == 0 ? 100 : 1);
      if (i >= 256 && i < 512) x = special[(i + i / 8 * rank) % 8];
      if constexpr (std::is_floating_point_v<T>) elements[i] = static_cast<T>(x);
      else elements[i] = stored<T>(static_cast<V>(x));
    }
  }
  return array;
}

/// Returns function(T()), for the element type T.
template <class Function>
Array for_dtype(DType dtype, const Function& function) {
  switch (dtype) {
    case DType::Float32: return function(float());
    case DType::Float64: return function(double());
    case DType::Float16: return function(float16());
    case DType::BFloat16: return function(bfloat16());
    case DType::Int32: return function(std::int32_t());
    case DType::UInt8: return function(std::uint8_t());
    case DType::Bool: return function(bool());
    default: throw std::logic_error("no row has this dtype");
  }
}

}  // namespace

Array combined(const std::vector<Array>& operands, Combination combination) {
  return for_dtype(operands[0].dtype(),
                   [&]<class T>(T) -> Array { return combined_as<T>(operands, combination); });
}

Array concatenated(const std::vector<Array>& operands, std::size_t axis) {
  const std::int64_t size = operands[0].dims()[axis];
  const auto ranks = static_cast<std::int64_t>(operands.size());
  Array result = with_dim(operands[0], axis, ranks * size);
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    copy_along(operands[static_cast<std::size_t>(rank)], 0, result, rank * size, size, axis);
  }
  return result;
}

Array part_of(const Array& array, std::size_t axis, std::int64_t rank, std::int64_t ranks) {
  const std::int64_t size = array.dims()[axis] / ranks;
  Array part = with_dim(array, axis, size);
  copy_along(array, rank * size, part, 0, size, axis);
  return part;
}

Array operand_of(DType dtype, const std::vector<std::int64_t>& dims, std::uint64_t rank) {
  return for_dtype(dtype, [&]<class T>(T) -> Array { return operand_as<T>(dims, rank); });
}

}  // namespace kiln::testing
