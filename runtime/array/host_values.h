// Conversion of host values to a dtype, as NumPy's astype, except that values that an integer dtype
// cannot represent are rejected.
#pragma once

#include <kiln/array.h>

#include <optional>
#include <string>

namespace kiln::runtime {

/// An element that an integer dtype cannot represent.
struct UnrepresentableElement {
  std::string index;  // "[1,2]"; empty for a scalar
  std::string value;  // "nan"
  DType dtype = DType::Int32;
  /// Describes the element of `array`: "value[1,2] is nan, which int32 cannot hold".
  std::string describe(const std::string& array) const;
};

/// Finds the first element that an integer `dtype` cannot represent after truncation: NaN, an
/// infinity, a number out of range. Returns nothing if there is none, or for another dtype.
std::optional<UnrepresentableElement> find_unrepresentable(const Array& array, DType dtype);

/// Finds the first element that an integer `dtype` cannot represent, fractions included.
std::optional<UnrepresentableElement> find_inexact(const Array& array, DType dtype);

/// Returns array.astype(dtype). Calls `reject`, which throws, with the first element that `dtype`
/// cannot represent.
template <class Reject>
Array cast_host_value(const Array& array, DType dtype, Reject reject) {
  if (const auto element = find_unrepresentable(array, dtype)) reject(*element);
  return array.astype(dtype);
}

}  // namespace kiln::runtime
