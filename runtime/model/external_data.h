// Elements of tensors that an ONNX model keeps in other files of its folder.
#pragma once

#include "core/onnx/file/model.h"

#include <cstddef>
#include <list>
#include <span>
#include <string>
#include <vector>

namespace kiln::runtime {

/// Reads from files beneath the model's folder: relative paths without "..", no symbolic links,
/// regular files with one name only. So a model cannot read other files of the user.
class ExternalFiles {
 public:
  /// `model`: the path of the model, in whose folder the files are.
  explicit ExternalFiles(const std::string& model);

  /// Returns the `size` bytes of the data, which live as long as this object. IoError "<model>
  /// keeps data in '<location>': <reason>" for a file that is not read, and for data of another
  /// size. Checks the size of the file before it allocates.
  std::span<const std::byte> read(const onnx::ExternalData& data, std::size_t size);

 private:
  std::string model_, folder_;
  std::list<std::vector<std::byte>> read_;  // a list: spans of its elements stay valid
};

}  // namespace kiln::runtime
