// The safetensors file format: 8 bytes little-endian length of a JSON header, the header
// {"name": {"dtype": "F32", "shape": [2,3], "data_offsets": [0,24]}, ...}, then the elements.
// Files come from anywhere: a reader checks everything that a header says before it believes it.
// The header is parsed in safetensors_header.cpp.
#pragma once

#include <kiln/array.h>

#include <span>
#include <string>
#include <vector>

namespace kiln::runtime {

struct NamedArray {
  std::string name;
  Array value;
};

/// All tensors, in the order in which they lie in the file. "__metadata__" is checked and dropped.
/// Throws IoError "<path> ..." for a file that cannot be read or is damaged in any
/// way: also for gaps, overlaps and bytes that no tensor covers; OutOfMemory.
std::vector<NamedArray> read_safetensors(const std::string& path);

/// Writes the file in full, or throws and leaves the one that was there. The bytes depend on the
/// tensors alone, not on their order: sorted by alignment, then by name.
/// Throws IoError "<path> ..."; ValueError for a name that occurs twice, is "__metadata__"
/// or is no UTF-8.
void write_safetensors(const std::string& path, std::span<const NamedArray> tensors);

}  // namespace kiln::runtime
