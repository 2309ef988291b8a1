// One loop per pair of element types: exact bounds of the integer type, one comparison per element.
#include "runtime/array/host_values.h"

#include "core/types/half.h"
#include "core/types/text.h"
#include "runtime/array/array_text.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace kiln::runtime {
namespace {

/// Converts an element to a number of the host.
float number_of(float16 x) { return static_cast<float>(float16_to_float(x.bits)); }
float number_of(bfloat16 x) { return static_cast<float>(bfloat16_to_float(x.bits)); }
template <class T>
T number_of(T x) {
  return x;
}

/// Whether `x` truncated is in the range of Integer. NaN compares false.
template <class Integer>
bool fits(double x) {
  using Limits = std::numeric_limits<Integer>;
  const double above = std::ldexp(1.0, Limits::digits);
  const double lowest = static_cast<double>(Limits::min());
  // For 64 bits lowest - 1 rounds to lowest, and no double is between the two.
  return (x > lowest - 1 || x >= lowest) && x < above;
}
template <class Integer>
bool fits(float x) {
  return fits<Integer>(static_cast<double>(x));
}
template <class Integer, class T>
bool fits(T x) {
  return std::in_range<Integer>(x);
}

template <class T>
bool is_whole(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::trunc(x) == x;
  return true;
}

/// The numbers that are searched for.
enum class Unfit { OutOfRange, OutOfRangeOrFraction };

template <class T>
std::string number_text(T x) {
  if constexpr (!std::is_floating_point_v<T>) {
    return std::to_string(x);
  } else {
    if (std::isnan(x)) return "nan";  // of either sign
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, x).ptr;
    return {digits, end};
  }
}

template <class Integer, class T>
std::optional<UnrepresentableElement> unrepresentable_among(const Array& array, DType dtype,
                                                            Unfit unfit) {
  const auto* elements = static_cast<const std::byte*>(array.data());
  for (std::int64_t i = 0; i < array.size(); ++i) {
    T element;  // a view may be at any address
    std::memcpy(&element, elements + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
    const auto number = number_of(element);
    const bool may_be_fraction = unfit == Unfit::OutOfRange;
    if (fits<Integer>(number) && (may_be_fraction || is_whole(number))) continue;
    return UnrepresentableElement{index_text(array.dims(), static_cast<std::size_t>(i)),
                                  number_text(number), dtype};
  }
  return std::nullopt;
}

template <class Integer>
std::optional<UnrepresentableElement> unrepresentable_in(const Array& array, DType dtype,
                                                         Unfit unfit) {
  switch (array.dtype()) {
    case DType::Bool: return std::nullopt;
    case DType::Int8: return unrepresentable_among<Integer, std::int8_t>(array, dtype, unfit);
    case DType::Int16: return unrepresentable_among<Integer, std::int16_t>(array, dtype, unfit);
    case DType::Int32: return unrepresentable_among<Integer, std::int32_t>(array, dtype, unfit);
    case DType::Int64: return unrepresentable_among<Integer, std::int64_t>(array, dtype, unfit);
    case DType::UInt8: return unrepresentable_among<Integer, std::uint8_t>(array, dtype, unfit);
    case DType::UInt16: return unrepresentable_among<Integer, std::uint16_t>(array, dtype, unfit);
    case DType::UInt32: return unrepresentable_among<Integer, std::uint32_t>(array, dtype, unfit);
    case DType::UInt64: return unrepresentable_among<Integer, std::uint64_t>(array, dtype, unfit);
    case DType::Float16: return unrepresentable_among<Integer, float16>(array, dtype, unfit);
    case DType::BFloat16: return unrepresentable_among<Integer, bfloat16>(array, dtype, unfit);
    case DType::Float32: return unrepresentable_among<Integer, float>(array, dtype, unfit);
    case DType::Float64: return unrepresentable_among<Integer, double>(array, dtype, unfit);
  }
  return std::nullopt;
}

std::optional<UnrepresentableElement> find_unfit(const Array& array, DType dtype, Unfit unfit) {
  if (array.dtype() == dtype) return std::nullopt;
  switch (dtype) {
    case DType::Int8: return unrepresentable_in<std::int8_t>(array, dtype, unfit);
    case DType::Int16: return unrepresentable_in<std::int16_t>(array, dtype, unfit);
    case DType::Int32: return unrepresentable_in<std::int32_t>(array, dtype, unfit);
    case DType::Int64: return unrepresentable_in<std::int64_t>(array, dtype, unfit);
    case DType::UInt8: return unrepresentable_in<std::uint8_t>(array, dtype, unfit);
    case DType::UInt16: return unrepresentable_in<std::uint16_t>(array, dtype, unfit);
    case DType::UInt32: return unrepresentable_in<std::uint32_t>(array, dtype, unfit);
    case DType::UInt64: return unrepresentable_in<std::uint64_t>(array, dtype, unfit);
    default: return std::nullopt;
  }
}

}  // namespace

std::string UnrepresentableElement::describe(const std::string& array) const {
  return text(array, index, " is ", value, ", which ", dtype, " cannot hold");
}

std::optional<UnrepresentableElement> find_unrepresentable(const Array& array, DType dtype) {
  return find_unfit(array, dtype, Unfit::OutOfRange);
}

std::optional<UnrepresentableElement> find_inexact(const Array& array, DType dtype) {
  return find_unfit(array, dtype, Unfit::OutOfRangeOrFraction);
}

}  // namespace kiln::runtime
