// Writes attributes and datasets as h5py does. The same calls give the same bytes: times are left
// out.
#pragma once

#include "runtime/hdf5/handle.h"
#include "runtime/hdf5/hdf5_interface.h"

#include <span>

namespace kiln::hdf5 {

/// Writes texts of fixed length; `is_list`: not one text alone.
void write_texts(hid_t file, const char* group, const char* attribute,
                 std::span<const kiln_hdf5_text> texts, bool is_list);

void write_array(hid_t file, const kiln_hdf5_object& object, const void* elements);

}  // namespace kiln::hdf5
