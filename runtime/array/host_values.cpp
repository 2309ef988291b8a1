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
std::optional<UnrepresentableElement> unrepresentable_among(const Array& array, DType dtype) {
  const auto* elements = static_cast<const std::byte*>(array.data());
  for (std::int64_t i = 0; i < array.size(); ++i) {
    T element;  // a view may be at any address
    std::memcpy(&element, elements + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
    const auto number = number_of(element);
    if (fits<Integer>(number)) continue;
    return UnrepresentableElement{index_text(array.dims(), static_cast<std::size_t>(i)),
                                  number_text(number), dtype};
  }
  return std::nullopt;
}

template <class Integer>
std::optional<UnrepresentableElement> unrepresentable_in(const Array& array, DType dtype) {
  switch (array.dtype()) {
    case DType::Bool: return std::nullopt;
    case DType::Int8: return unrepresentable_among<Integer, std::int8_t>(array, dtype);
    case DType::Int16: return unrepresentable_among<Integer, std::int16_t>(array, dtype);
    case DType::Int32: return unrepresentable_among<Integer, std::int32_t>(array, dtype);
    case DType::Int64: return unrepresentable_among<Integer, std::int64_t>(array, dtype);
    case DType::UInt8: return unrepresentable_among<Integer, std::uint8_t>(array, dtype);
    case DType::UInt16: return unrepresentable_among<Integer, std::uint16_t>(array, dtype);
    case DType::UInt32: return unrepresentable_among<Integer, std::uint32_t>(array, dtype);
    case DType::UInt64: return unrepresentable_among<Integer, std::uint64_t>(array, dtype);
    case DType::Float16: return unrepresentable_among<Integer, float16>(array, dtype);
    case DType::BFloat16: return unrepresentable_among<Integer, bfloat16>(array, dtype);
    case DType::Float32: return unrepresentable_among<Integer, float>(array, dtype);
    case DType::Float64: return unrepresentable_among<Integer, double>(array, dtype);
  }
  return std::nullopt;
}

}  // namespace

std::string UnrepresentableElement::describe(const std::string& array) const {
  return text(array, index, " is ", value, ", which ", dtype, " cannot hold");
}

std::optional<UnrepresentableElement> find_unrepresentable(const Array& array, DType dtype) {
  if (array.dtype() == dtype) return std::nullopt;
  switch (dtype) {
    case DType::Int8: return unrepresentable_in<std::int8_t>(array, dtype);
    case DType::Int16: return unrepresentable_in<std::int16_t>(array, dtype);
    case DType::Int32: return unrepresentable_in<std::int32_t>(array, dtype);
    case DType::Int64: return unrepresentable_in<std::int64_t>(array, dtype);
    case DType::UInt8: return unrepresentable_in<std::uint8_t>(array, dtype);
    case DType::UInt16: return unrepresentable_in<std::uint16_t>(array, dtype);
    case DType::UInt32: return unrepresentable_in<std::uint32_t>(array, dtype);
    case DType::UInt64: return unrepresentable_in<std::uint64_t>(array, dtype);
    default: return std::nullopt;
  }
}

}  // namespace kiln::runtime
