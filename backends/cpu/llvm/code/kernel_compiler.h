// Compiles the kernels of a program to functions: looks up code in the cache, compiles the rest in
// parallel.
#pragma once

#include "backends/codegen/host/prepared/kernel_function.h"
#include "backends/codegen/kernel/build/built_kernel.h"
#include "backends/cpu/llvm/code/code_cache.h"
#include "backends/cpu/llvm/code/code_plan.h"
#include "backends/cpu/llvm/jit/jit.h"

#include <cstddef>

namespace kiln::cpu {

struct CompileOptions {
  const IsaTarget& target;
  std::size_t threads = 1;  // maximum number of compile threads
  ParametricCode parametric = ParametricCode::WhereShared;
  CodeCache* cache = nullptr;  // null: CodeCache::instance()
};

/// Returns one function per kernel, in their order; `keep_alive` owns the code. The bits of a
/// kernel's results depend on the kernel and the target only, not on the number of threads nor on
/// sharing. Where texts are wanted, each distinct kernel gets code without parameters, in one
/// module that is not cached. Throws sdk::Failure. Any thread but compile threads.
codegen::KernelFunctions compile_kernels(const codegen::BuiltKernels& kernels,
                                         const CompileOptions& options,
                                         std::shared_ptr<const void>& keep_alive,
                                         CompileTexts& texts);

}  // namespace kiln::cpu
