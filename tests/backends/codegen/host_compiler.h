// Compiles C++ text to machine code with the compiler that built the tests.
#pragma once

#include "backends/codegen/host/prepared/kernel_function.h"
#include "tests/backends/codegen/loop_text.h"

#include <memory>
#include <vector>

namespace kiln::test {

/// Compiles a translation unit and loads it; a process compiles the same text only once. Throws
/// InternalError with the output of the compiler.
std::shared_ptr<void> compile_library(const std::string& source);

/// Compiles a translation unit to the file `library`. Throws InternalError likewise.
void compile_to_file(const std::string& source, const std::string& library);

/// One function per kernel, from one translation unit; `holder` keeps the code. Throws
/// InternalError as compile_library does.
codegen::KernelFunctions compile_text(std::span<const codegen::Kernel> kernels,
                                      std::shared_ptr<const void>& holder);

}  // namespace kiln::test
