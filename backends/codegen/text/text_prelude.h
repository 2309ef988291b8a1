// Writes the prelude of every kernel text: types, loads and stores, rounding, casts, random numbers
// and the ops. The text has no #include.
#pragma once

#include "backends/codegen/text/formula_text.h"

#include <cstdint>
#include <string>

namespace kiln::codegen {

/// The compiler that reads the text: GCC or Clang for C++20, or NVRTC with -default-device.
enum class TextDialect : std::uint8_t { Host, Cuda };

/// `used`: the elementary functions of the kernels that follow.
std::string text_prelude(TextDialect dialect, const Formulas& used = all_formulas());

}  // namespace kiln::codegen
