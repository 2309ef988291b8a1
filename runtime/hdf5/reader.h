// A file, opened for reading: its groups and datasets, checked when it is opened.
#pragma once

#include "runtime/hdf5/handle.h"
#include "runtime/hdf5/hdf5_interface.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace kiln::hdf5 {

struct Object {
  std::string path, dtype, other_dtype;
  bool is_dataset = false;
  haddr_t address = 0;
  std::vector<std::int64_t> dims;
  std::uint64_t bytes = 0;  // of the elements of a dataset with a dtype
};

/// Returns the groups and datasets of a file of `bytes` bytes, sorted by their paths' components;
/// the root is the first. Rejection for links other than hard ones, groups nested more than 16
/// deep, an object with two paths, and for datasets that are stored elsewhere, or declare more than
/// they can hold.
std::vector<Object> read_objects(hid_t file, std::uint64_t bytes);

/// Reads the elements of a dataset as they are in the file. REQUIRES: the object is one with a
/// dtype; `to` has object.bytes bytes.
void read_elements(hid_t file, const Object& object, void* to);

}  // namespace kiln::hdf5
