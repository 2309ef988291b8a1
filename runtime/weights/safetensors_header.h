// Parses the header of a safetensors file into a list of tensors and checks each one. The reader
// checks that they cover the file.
#pragma once

#include "runtime/weights/tensor_entry.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::runtime {

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
