// protozero, whose assertions throw: it checks the wire types of a file's fields by them alone.
#pragma once

#include <stdexcept>

namespace kiln::onnx {

/// Thrown for a field of another wire type than its number has.
struct WireTypeError : std::runtime_error {
  WireTypeError() : runtime_error("a field has another wire type than its number") {}
};

}  // namespace kiln::onnx

#ifdef protozero_assert
#error "core/onnx/file/wire.h must come before protozero's headers"
#endif
#define protozero_assert(condition) \
  ((condition) ? static_cast<void>(0) : throw ::kiln::onnx::WireTypeError())

#include <protozero/pbf_reader.hpp>
