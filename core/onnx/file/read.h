// Reads ONNX models: protobuf to the structs of model.h.
#pragma once

#include "core/onnx/file/malformed_model.h"
#include "core/onnx/file/model.h"
#include "core/onnx/file/value_type.h"

namespace kiln::onnx {

/// Reads a model: views into `bytes`, which must outlive it. Checks the form: wire types, dims,
/// sizes against dims and dtypes, names for UTF-8, at most kMaxNesting graphs inside each other.
/// Throws MalformedModel.
ModelProto read_model(std::span<const std::byte> bytes);

/// Reads a tensor by itself, as a file tensor.pb has it. Throws MalformedModel.
TensorProto read_tensor(std::span<const std::byte> bytes);

inline constexpr int kMaxNesting = 32;

}  // namespace kiln::onnx
