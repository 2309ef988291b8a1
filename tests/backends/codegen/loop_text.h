// Emits kernels as plain loops in C++20, one function each, for the compiler of a host.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <span>
#include <string>

namespace kiln::codegen {

/// A complete translation unit without includes. Each kernel becomes `extern "C" void <name>(const
/// void*, const KernelArguments*)`, a KernelFunction::run (host/prepared/kernel_function.h).
/// Verifies the kernels first.
std::string loop_text(std::span<const Kernel> kernels);

}  // namespace kiln::codegen
