// Imports ONNX files, with the values of inputs that a caller is going to feed.
#pragma once

#include <kiln/onnx.h>

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace kiln::runtime {

struct ImportedFile {
  Model model;
  /// Inputs whose given values decided shapes or branches: the model holds for these values only.
  std::vector<std::string> assumed;
};

/// import_onnx(), which may also read the values in `given` by the names of inputs. REQUIRES: a
/// Call is running.
ImportedFile import_file(const std::string& path, const ImportOptions& options,
                         const std::map<std::string, Array>& given = {});

/// The reason to reject a file of these bytes, which are no ONNX model: the format that they have
/// instead, if it is known, else `reason`, that of the reader.
std::string onnx_rejection(std::span<const std::byte> bytes, const char* reason);

}  // namespace kiln::runtime
