// A Kernel as an LLVM function.
#pragma once

#include "backends/codegen/host/prepared/kernel_function.h"
#include "backends/codegen/kernel/kernel.h"
#include "backends/cpu/llvm/emit_context.h"
#include "backends/cpu/llvm/jit.h"

namespace kiln::cpu {

/// Adds `void <kernel's name>(const KernelArguments*)` to the module.
void emit_kernel(llvm::Module& module, const codegen::Kernel& kernel, const IsaTarget& target);

/// The same with the kernel's large static sizes and constants as numbers that the code reads from
/// KernelArguments::sizes: returns those of this kernel. Its results have the same bits; kernels
/// that give equal modules differ in nothing but the numbers. REQUIRES: kernel.sizes is empty.
std::vector<std::int64_t> emit_kernel_of_numbers(llvm::Module& module,
                                                 const codegen::Kernel& kernel,
                                                 const IsaTarget& target);

/// What kernels may call beside scalar_symbols().
std::vector<RuntimeSymbol> kernel_symbols();

}  // namespace kiln::cpu
