// A tensor of a file, as its header describes it.
#pragma once

#include <kiln/dtype.h>

#include <cstdint>
#include <string>
#include <vector>

namespace kiln::runtime {

struct TensorEntry {
  std::string name;
  DType dtype = DType::Float32;  // unless `other_dtype` is set
  std::string other_dtype = {};  // a dtype of the format that Kiln lacks: "F8_E4M3"
  std::vector<std::int64_t> dims;
  std::uint64_t begin = 0, end = 0;  // of safetensors: byte offsets after the header
  std::vector<std::string> other_names = {};  // of HDF5: the path in the file, for one
};

}  // namespace kiln::runtime
