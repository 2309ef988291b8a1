// Kernels as plain loops in C++20, one function each, for the compiler of a host.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <span>
#include <string>

namespace kiln::codegen {

/// A whole translation unit, which includes nothing. Verifies the kernels first. Each becomes
/// `extern "C" void <name>(const void*, const KernelArguments*)`, with the arguments of
/// KernelFunction::run (host/prepared/kernel_function.h).
std::string loop_text(std::span<const Kernel> kernels);

}  // namespace kiln::codegen
