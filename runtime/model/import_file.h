// Imports ONNX files, with the values of inputs that a caller is going to feed.
#pragma once

#include <kiln/onnx.h>

#include <map>
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

}  // namespace kiln::runtime
