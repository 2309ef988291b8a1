// Kernels as a C++20 translation unit of plain loops: one function each. It shows that the loop
// form alone is enough to write code from, apart from any one compiler library.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <span>
#include <string>

namespace kiln::test {

/// The whole text, which includes nothing. Verifies the kernels first. Each becomes
/// `extern "C" void <name>(const void*, const KernelArguments*)`, which is KernelFunction::run.
std::string kernel_text(std::span<const codegen::Kernel> kernels);

}  // namespace kiln::test
