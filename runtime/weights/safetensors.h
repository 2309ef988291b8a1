// The safetensors file format: 8 bytes little-endian length of a JSON header, the header
// {"name": {"dtype": "F32", "shape": [2,3], "data_offsets": [0,24]}, ...}, then the elements.
// Files are untrusted: every statement of a header is checked before it is used. The header is
// parsed in safetensors_header.cpp.
// Not a library: the format has no official C++ reader, and a reader over RapidJSON is small enough
// to check every byte of an untrusted file.
#pragma once

#include "runtime/files/file_io.h"
#include "runtime/weights/array_file.h"

#include <kiln/array.h>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kiln::runtime {

class SafetensorsFile final : public ArrayFile {
 public:
  /// Reads the header. Checks "__metadata__" and adds it to `metadata`, unless null. IoError
  /// "<path> ..." for a file that cannot be read, has another format, which it names, or is
  /// damaged, which includes gaps, overlaps and bytes that no tensor covers; OutOfMemory.
  explicit SafetensorsFile(const std::string& path,
                           std::map<std::string, std::string>* metadata = nullptr);

  std::string_view format() const override { return "safetensors file"; }
  /// Writers sort tensors by their dtypes and names.
  bool keeps_order() const override { return false; }
  const std::vector<TensorEntry>& tensors() const override { return tensors_; }
  Array read(const TensorEntry& tensor) const override;

 private:
  InputFile file_;
  std::uint64_t data_ = 0;  // offset of the elements
  std::vector<TensorEntry> tensors_;
};

/// Replaces the file atomically; on an error an older file stays. The bytes do not depend on the
/// order of `tensors`: they are sorted by alignment, then by name. IoError "<path> ..."; ValueError
/// for a name that occurs twice, is "__metadata__" or is not UTF-8, and for metadata that is not.
/// `mode`: as for OutputFile.
void write_safetensors(const std::string& path, std::span<const NamedArray> tensors,
                       const std::map<std::string, std::string>& metadata = {},
                       std::optional<unsigned> mode = {});

}  // namespace kiln::runtime
