// Emits the prelude of kernel programs: types, loads and stores, rounding, casts, random numbers
// and ops. The text has no #include.
#pragma once

#include "backends/codegen/text/formula_text.h"

#include <cstdint>
#include <string>

namespace kiln::codegen {

/// The compiler of the text: GCC or Clang in C++20 mode, or NVRTC with -default-device.
enum class TextDialect : std::uint8_t { Host, Cuda };

/// `used`: the elementary functions that the program's kernels apply.
std::string text_prelude(TextDialect dialect, const Formulas& used = all_formulas());

}  // namespace kiln::codegen
