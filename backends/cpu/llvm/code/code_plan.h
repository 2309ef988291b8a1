// Plans which pieces of machine code the kernels of a program need: equal kernels share code, and
// kernels that differ only in sizes and constants share parametric code.
#pragma once

#include "backends/codegen/kernel/build/built_kernel.h"
#include "backends/cpu/llvm/jit/jit.h"
#include "backends/cpu/schedule/target.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kiln::cpu {

/// Which kernels get parametric code: code that reads sizes and constants from memory
/// (emit_parametric_kernel).
enum class ParametricCode : std::uint8_t {
  Never,
  WhereShared,  // kernels whose parametric key another one has
  Always,       // all that can
};

struct PlannedCode {
  const codegen::Kernel* kernel = nullptr;  // the first one that uses it
  bool is_parametric = false;               // emitted by emit_parametric_kernel
  CodeGeneration generation = CodeGeneration::Full;
  std::string key;  // of CodeCache
};

struct CodeUse {
  std::size_t code = 0;                // of CodePlan::codes
  std::vector<std::int64_t> parameters;  // that parametric code reads
};

struct CodePlan {
  std::vector<PlannedCode> codes;  // their keys differ
  IdVector<codegen::KernelId, CodeUse> uses;
};

/// Whether parametric kernels are equal is decided by their LLVM IR, which up to `threads` compile
/// threads emit. REQUIRES: set_up_llvm has returned; the kernels outlive the plan. Throws
/// sdk::Failure.
CodePlan plan_codes(const codegen::BuiltKernels& kernels, const IsaTarget& target,
                    ParametricCode parametric, std::size_t threads);

}  // namespace kiln::cpu
