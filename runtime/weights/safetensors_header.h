// Parses the header of a safetensors file into a list of tensors and checks each one. The reader
// checks that they cover the file.
#pragma once

#include <kiln/dtype.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::runtime {

struct TensorEntry {
  std::string name;
  DType dtype = DType::Float32;  // unless `other_dtype` is set
  std::string other_dtype = {};  // a dtype of the format that Kiln lacks: "F8_E4M3"
  std::vector<std::int64_t> dims;
  std::uint64_t begin = 0, end = 0;  // byte offsets after the header
};

/// Returns the tensors in the header's order, with distinct names, begin <= end, and end - begin
/// the bytes of dtype and dims, which fit in 63 bits. Skips members of a tensor that the format
/// does not define, as the original does. IoError "<path> ..."; for malformed JSON
/// "header of <path> is malformed at line L, column C: ...". `metadata`: receives the texts of
/// "__metadata__", unless null.
std::vector<TensorEntry> parse_safetensors_header(
    std::string_view json, const std::string& path,
    std::map<std::string, std::string>* metadata = nullptr);

/// Returns the format's name of a dtype: "F32".
std::string_view safetensors_dtype(DType dtype);

}  // namespace kiln::runtime
