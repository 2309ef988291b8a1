// Emits a codegen::Kernel as an LLVM function.
#pragma once

#include "backends/codegen/host/prepared/kernel_function.h"
#include "backends/codegen/kernel/kernel.h"
#include "backends/cpu/llvm/scalar/emit_context.h"
#include "backends/cpu/llvm/jit/jit.h"

namespace kiln::cpu {

/// Adds `void <kernel's name>(const KernelArguments*)` to the module.
void emit_kernel(llvm::Module& module, const codegen::Kernel& kernel, const IsaTarget& target);

/// Emits the kernel with its large static sizes and constants as parameters, which the code reads
/// from KernelArguments::sizes, and returns their values. Results have the same bits; kernels that
/// give equal modules differ only in their parameters. REQUIRES: kernel.sizes is empty.
std::vector<std::int64_t> emit_parametric_kernel(llvm::Module& module,
                                                 const codegen::Kernel& kernel,
                                                 const IsaTarget& target);

/// Functions that kernels may call, in addition to scalar_symbols().
std::vector<RuntimeSymbol> kernel_symbols();

}  // namespace kiln::cpu
