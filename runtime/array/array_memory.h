// Direct access of the host to the memory of Arrays.
#pragma once

#include <kiln/dtype.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kiln {
class Array;
}

namespace kiln::runtime {

/// The type of an Array of unspecified content, which Array(UninitialisedArray) allocates.
/// REQUIRES: `dims` hold `size` elements of `bytes` bytes, less than 2^63.
struct UninitialisedArray {
  /// The caller sets the rest once the values of `of_dims` are known.
  UninitialisedArray(std::span<const std::int64_t> of_dims, DType of_dtype)
      : dims(of_dims), dtype(of_dtype) {}

  std::span<const std::int64_t> dims;
  std::int64_t size = 0;
  std::size_t bytes = 0;
  DType dtype;
};

/// Allocates an Array of unspecified content, to be written through fill_address() before any read.
/// Throws as Array::zeros.
Array uninitialised_array(std::vector<std::int64_t> dims, DType dtype);

/// Returns the address for initialising an Array. Unlike data(), does not make later copies deep.
/// REQUIRES: no write through the address after the Array has been copied.
void* fill_address(Array& array);

/// Whether the Array has memory that no other Array shares; false for a view.
bool is_sole_owner(const Array& array);

/// Fills `to` with `count` copies of the element of `bytes` bytes, at most 8.
void repeat_element(const std::byte* element, std::size_t bytes, std::byte* to, std::int64_t count);

/// Whether all bytes are 0 or 1, as backends require of bools.
bool are_bools(const std::byte* bytes, std::size_t count);
/// Copies bytes, each other than 0 as 1. `from` and `to` may be equal.
void copy_bools(const std::byte* from, std::byte* to, std::size_t count);
/// Normalises bytes to 0 and 1 in place; does not write if all are already.
void normalise_bools(std::byte* bytes, std::size_t count);

}  // namespace kiln::runtime
