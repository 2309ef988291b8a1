// Memory of Arrays as the host itself writes and reads it.
#pragma once

#include <kiln/dtype.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kiln {
class Array;
}

namespace kiln::runtime {

/// Elements of unspecified content, to be written through fill_address before anyone reads them.
/// Errors: as for Array::zeros.
Array uninitialised_array(std::vector<std::int64_t> dims, DType dtype);

/// The elements, for initialising an Array that is not shared yet. Unlike after data(), later
/// copies share them, so the address must not be written through after the Array has been copied.
void* fill_address(Array& array);

/// Whether all bytes are 0 or 1, as backends expect of bools.
bool are_bools(const std::byte* bytes, std::size_t count);
/// Bytes other than 0 become 1. `from` and `to` may be the same.
void copy_bools(const std::byte* from, std::byte* to, std::size_t count);
/// The same in place; memory that has bools already is not written.
void normalise_bools(std::byte* bytes, std::size_t count);

}  // namespace kiln::runtime
