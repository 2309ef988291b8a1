// Kernels to functions: code that the process has is shared, the rest is compiled in parallel.
#pragma once

#include "backends/codegen/host/prepared/kernel_function.h"
#include "backends/codegen/kernel/build/built_kernel.h"
#include "backends/cpu/llvm/code_cache.h"
#include "backends/cpu/llvm/code_plan.h"
#include "backends/cpu/llvm/jit.h"

#include <cstddef>

namespace kiln::cpu {

struct CompileOptions {
  const IsaTarget& target;
  std::size_t threads = 1;  // at most so many compile at once
  NumberReading reading = NumberReading::WhereShared;
  CodeCache* cache = nullptr;  // null: the process's
};

/// One function per kernel, in their order; `keep_alive` holds the code. The bits of a kernel's
/// results depend on it and the target alone, not on the number of threads nor on sharing. Where
/// texts are wanted each kernel that differs from all others gets code without numbers, in one
/// module that nobody shares. Throws sdk::Failure. Any thread, but none that compiles.
std::vector<codegen::KernelFunction> compile_kernels(
    const std::vector<codegen::BuiltKernel>& kernels, const CompileOptions& options,
    std::shared_ptr<const void>& keep_alive, CompileTexts& texts);

}  // namespace kiln::cpu
