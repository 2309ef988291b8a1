// All kernels of a program as one module of machine code.
#pragma once

#include "backends/codegen/host/prepared/kernel_function.h"
#include "backends/codegen/kernel/build/built_kernel.h"
#include "backends/cpu/llvm/jit.h"

namespace kiln::cpu {

/// One function per kernel, in their order; `keep_alive` holds the code.
std::vector<codegen::KernelFunction> compile_kernels(
    const std::vector<codegen::BuiltKernel>& kernels, const IsaTarget& target,
    std::shared_ptr<const void>& keep_alive, CompileTexts& texts);

}  // namespace kiln::cpu
