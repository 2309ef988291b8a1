// A file of named arrays, whatever its format (array_formats.h).
#pragma once

#include "runtime/weights/tensor_entry.h"

#include <kiln/array.h>

#include <string>
#include <string_view>
#include <vector>

namespace kiln::runtime {

struct NamedArray {
  std::string name;
  Array value;
};

/// A file, opened for reading.
class ArrayFile {
 public:
  ArrayFile() = default;
  virtual ~ArrayFile() = default;
  ArrayFile(const ArrayFile&) = delete;
  ArrayFile& operator=(const ArrayFile&) = delete;

  /// "NumPy archive (.npz)".
  virtual std::string_view format() const = 0;
  /// Whether the order of the tensors is that in which they were written.
  virtual bool keeps_order() const = 0;
  /// Whether tensors are named "layer/0", by their order in a layer, as Keras 3 does.
  virtual bool is_numbered() const { return false; }
  /// The tensors in file order, with distinct names.
  virtual const std::vector<TensorEntry>& tensors() const = 0;
  /// Reads the elements of one of tensors(). IoError, OutOfMemory. REQUIRES: Kiln has its dtype.
  virtual Array read(const TensorEntry& tensor) const = 0;
};

}  // namespace kiln::runtime
