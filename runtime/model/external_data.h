// Elements of tensors that an ONNX model keeps in other files of its folder.
#pragma once

#include "core/onnx/file/model.h"

#include <list>
#include <string>
#include <vector>

namespace kiln::runtime {

/// Reads from files beneath one folder: relative paths without "..", no symbolic links, regular
/// files with one name only. So a model cannot read files of the user that it does not contain.
class ExternalFiles {
 public:
  /// `model`: the path of the model, in whose folder the files are.
  explicit ExternalFiles(const std::string& model);

  /// `size` bytes, which live as long as this object. Throws IoError.
  std::span<const std::byte> read(const onnx::ExternalData& data, std::size_t size);

 private:
  std::string model_, folder_;
  std::list<std::vector<std::byte>> read_;
};

}  // namespace kiln::runtime
