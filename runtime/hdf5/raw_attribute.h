// The stored bytes of an attribute, found in the object header without HDF5, which has no function
// that returns them.
#pragma once

#include "runtime/hdf5/file_bytes.h"

#include <cstdint>
#include <string_view>

namespace kiln::hdf5 {

/// Returns the data of the attribute of that name. Reads object headers of both versions. Rejection
/// for a damaged header, and for one that keeps the attribute elsewhere. REQUIRES: addresses and
/// lengths of the file have 8 bytes; an object has a header at the address.
Bytes raw_attribute(const FileBytes& file, std::uint64_t header, std::string_view name);

}  // namespace kiln::hdf5
