// Conversion of host values to a dtype of the graph: as NumPy's astype does, except that an integer
// dtype must hold them.
#pragma once

#include <kiln/array.h>

#include <optional>
#include <string>

namespace kiln::runtime {

/// An element that a dtype cannot hold.
struct Misfit {
  std::string index;  // "[1,2]"; empty for a scalar
  std::string value;  // "nan"
  DType dtype = DType::Int32;
  /// "value[1,2] is nan, which int32 cannot hold".
  std::string describe(const std::string& array) const;
};

/// The first element that `dtype`, an integer's, cannot hold after truncation: NaN, an infinity,
/// a number out of range. Nothing when all fit, as for any other dtype.
std::optional<Misfit> find_misfit(const Array& array, DType dtype);

/// array.astype(dtype), or `refuse` called with the first misfit; that throws.
template <class Refuse>
Array cast_host_value(const Array& array, DType dtype, Refuse refuse) {
  if (const auto misfit = find_misfit(array, dtype)) refuse(*misfit);
  return array.astype(dtype);
}

}  // namespace kiln::runtime
