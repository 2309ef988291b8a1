// The part of the reader that reads tensors.
#pragma once

#include "core/onnx/file/model.h"
#include "core/onnx/file/wire.h"

namespace kiln::onnx {

/// Throws MalformedModel, as the functions below do.
TensorProto read_tensor(protozero::pbf_reader message);
SparseTensorProto read_sparse_tensor(protozero::pbf_reader message);

/// The text of the current field. Throws unless it is UTF-8.
std::string_view text_field(protozero::pbf_reader& message);
/// Appends the numbers of the current field, packed or one of many.
void append_integers(protozero::pbf_reader& message, std::vector<std::int64_t>& numbers);
void append_floats(protozero::pbf_reader& message, std::vector<float>& numbers);

}  // namespace kiln::onnx
