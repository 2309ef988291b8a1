// The beginning of every text of kernels: types, loads and stores, rounding, casts, random numbers
// and the ops. It includes nothing.
#pragma once

#include <cstdint>
#include <string>

namespace kiln::codegen {

/// The compiler that reads the text: GCC or Clang for C++20, or NVRTC with -default-device.
enum class TextDialect : std::uint8_t { Host, Cuda };

const std::string& text_prelude(TextDialect dialect);

}  // namespace kiln::codegen
