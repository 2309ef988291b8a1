// The header of a safetensors file as a list of tensors, each checked for itself; whether they
// cover the file is for the reader to check.
#pragma once

#include <kiln/dtype.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::runtime {

struct TensorEntry {
  std::string name;
  DType dtype = DType::Float32;
  std::vector<std::int64_t> dims;
  std::uint64_t begin = 0, end = 0;  // of its bytes, behind the header
};

/// The tensors in the header's order. Names are distinct; begin <= end; end - begin is the bytes
/// that dtype and dims need, which fit in 63 bits. Throws IoError "<path> ..."; for malformed JSON
/// "header of <path> is malformed at line L, column C: ...".
std::vector<TensorEntry> parse_safetensors_header(std::string_view json, const std::string& path);

/// "F32" and so on.
std::string_view safetensors_dtype(DType dtype);

}  // namespace kiln::runtime
