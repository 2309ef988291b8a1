// Types of values in ONNX files: their elements, and dims of inputs.
#pragma once

#include "core/onnx/file/model.h"

#include <kiln/dtype.h>

#include <optional>
#include <string>

namespace kiln::onnx {

/// Whether the size of a dim is a number.
inline bool is_known(const Dimension& dimension) {
  return dimension.value && *dimension.value >= 0;
}
/// The name of an unknown dim of an input: the file's, or "x.0" for axis 0 of x. "?" is no name:
/// exporters give it to sizes that differ.
std::string name_of_dim(const ValueInfo& input, std::size_t axis);

/// "float32", "float8e4m3fn", "element type 99".
std::string data_type_text(std::int64_t data_type);
/// The dtype of an element type; nullopt for one that Kiln lacks.
std::optional<DType> dtype_of(std::int64_t data_type);
/// Bits of an element; nullopt for strings and unknown types.
std::optional<int> data_type_bits(std::int64_t data_type);

}  // namespace kiln::onnx
