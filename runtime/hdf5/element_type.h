// Element types of HDF5, named as NumPy's dtypes.
#pragma once

#include "runtime/hdf5/handle.h"

#include <string>

namespace kiln::hdf5 {

/// "<f4", ">i2", "|b1"; or `other`: a description of a type that has no such name.
struct ElementType {
  std::string dtype, other;
};

/// bfloat16 is "<V2": h5py writes that of ml_dtypes as opaque elements of 2 bytes. Booleans are an
/// enumeration of FALSE and TRUE, as h5py writes them.
ElementType element_type(hid_t type);

/// Returns a type as h5py writes it; the caller closes it. REQUIRES: `dtype` is "|b1" or
/// little-endian.
hid_t type_of(const std::string& dtype);

}  // namespace kiln::hdf5
