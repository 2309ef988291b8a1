// An ONNX model as its file has it, for commands that describe it without importing it.
#pragma once

#include "core/onnx/file/model.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln::tool {

class OnnxFile {
 public:
  /// IoError "<path> ..." for a file that cannot be read, is damaged or no ONNX model.
  explicit OnnxFile(const std::string& path);

  /// The names of unknown dims of the inputs.
  std::vector<std::string> dim_names() const;
  /// "ONNX model, opset 17, by pytorch 2.1".
  std::string format() const;
  /// Names and types, "float32[N,3,224,224]"; inputs are those without an initializer.
  using Named = std::vector<std::pair<std::string, std::string>>;
  Named inputs() const;
  /// The names of inputs with an initializer, which is their default.
  std::vector<std::string> defaulted_inputs() const;
  Named outputs() const;
  Named initializers() const;
  /// Operators with their counts, those of graphs inside nodes included.
  std::map<std::string, std::size_t> operators() const;
  std::map<std::string, std::string> metadata() const;

 private:
  bool has_initializer(std::string_view name) const;

  std::vector<std::byte> bytes_;
  onnx::ModelProto model_;
};

}  // namespace kiln::tool
