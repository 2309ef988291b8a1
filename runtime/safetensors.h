// The safetensors file format: a JSON header and raw bytes. The reader does not trust its input;
// the writer replaces a file whole or not at all.
#pragma once

#include <kiln/array.h>

#include <string>

namespace kiln::runtime {

struct NamedArray {
  std::string name;
  Array value;
};

/// In the order of the data. Throws IoError naming the file and what is wrong with it.
std::vector<NamedArray> read_safetensors(const std::string& path);
/// Writes beside `path` and renames. Throws IoError; an older file is then as it was.
void write_safetensors(const std::string& path, std::span<const NamedArray> arrays);

}  // namespace kiln::runtime
