// Runs CUDA text that is not emitted from kernels, such as that of attention, on the host.
#pragma once

#include "tests/backends/codegen/emulated_kernels.h"

#include <string>
#include <string_view>
#include <vector>

namespace kiln::test {

/// A function of such a text, whose parameters are addresses, sizes and the units of its work, all
/// words of 64 bits.
struct TextFunction {
  std::string name;
  int threads = 0;  // of a block
  int addresses = 0, sizes = 0;
};

/// The functions with a line "// function NAME: .. threads, .. addresses, .. sizes" right above
/// them. Throws std::runtime_error for such a line that does not have that form.
std::vector<TextFunction> parse_functions(std::string_view text);

/// Compiles the text with its functions for the host. `finds_races`: also reports data races, many
/// times slower. REQUIRES: shared memory is declared behind the prelude, before all other text.
/// Throws InternalError with the compiler's errors.
EmulatedKernels emulate_functions(const std::string& text, bool finds_races);

}  // namespace kiln::test
