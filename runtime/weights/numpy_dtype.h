// NumPy's names of dtypes, which name the element types of HDF5 files, too (runtime/hdf5).
#pragma once

#include <kiln/dtype.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace kiln::runtime {

struct NumpyDType {
  DType dtype = DType::Float32;
  bool is_swapped = false;  // big-endian elements
};

/// The dtype of a description such as "<f4"; none for one that Kiln lacks. "<V2" is bfloat16, as
/// NumPy writes that of ml_dtypes.
std::optional<NumpyDType> numpy_dtype(std::string_view description);

/// "<f4", "|b1".
std::string numpy_description(DType dtype);

/// Reverses the bytes of each element of `width` bytes.
void swap_bytes(std::span<std::byte> bytes, std::size_t width);

}  // namespace kiln::runtime
