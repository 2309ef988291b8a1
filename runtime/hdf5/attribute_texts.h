// Attributes that hold texts: of fixed length, padded, or of variable length.
#pragma once

#include "runtime/hdf5/file_bytes.h"
#include "runtime/hdf5/global_heap.h"
#include "runtime/hdf5/reader.h"

#include <string>
#include <vector>

namespace kiln::hdf5 {

/// Reads the texts of a file's attributes. REQUIRES: file and stream outlive the object.
struct TextReader {
  TextReader(hid_t file, const kiln_hdf5_stream& stream);
  TextReader(const TextReader&) = delete;
  TextReader& operator=(const TextReader&) = delete;

  /// The texts of an attribute; none if the object lacks it.
  std::vector<std::string> read(const Object& object, const char* attribute);

  hid_t file;
  FileBytes bytes;
  GlobalHeap heap;
};

}  // namespace kiln::hdf5
