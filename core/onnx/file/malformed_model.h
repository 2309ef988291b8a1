// The error of files that are no ONNX models.
#pragma once

#include <stdexcept>

namespace kiln::onnx {

/// A file that is no ONNX model, or a damaged one; the text says where in the model.
struct MalformedModel : std::runtime_error {
  using runtime_error::runtime_error;
};

}  // namespace kiln::onnx
