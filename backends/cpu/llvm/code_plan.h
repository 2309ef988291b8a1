// Which pieces of machine code the kernels of a program need.
#pragma once

#include "backends/codegen/kernel/build/built_kernel.h"
#include "backends/cpu/llvm/target.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kiln::cpu {

/// Which kernels get code that reads their numbers (emit_kernel_of_numbers).
enum class NumberReading : std::uint8_t {
  Never,
  WhereShared,  // kernels whose outline another one has
  Always,       // all that can
};

struct PlannedCode {
  const codegen::Kernel* kernel = nullptr;  // the first one that uses it
  bool reads_numbers = false;               // made by emit_kernel_of_numbers
  std::string key;                          // of CodeCache
};

struct CodeUse {
  std::size_t code = 0;                // of CodePlan::codes
  std::vector<std::int64_t> numbers;   // that the code reads
};

struct CodePlan {
  std::vector<PlannedCode> codes;  // their keys differ
  std::vector<CodeUse> uses;       // one per kernel
};

/// Kernels that are equal share code; so do those that read numbers and differ in them alone: their
/// LLVM IR decides, which up to `threads` compile threads emit. REQUIRES: set_up_llvm has returned,
/// and the kernels outlive the plan. Throws sdk::Failure.
CodePlan plan_codes(const std::vector<codegen::BuiltKernel>& kernels, const IsaTarget& target,
                    NumberReading reading, std::size_t threads);

}  // namespace kiln::cpu
