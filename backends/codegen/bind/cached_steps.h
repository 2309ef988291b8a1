// Steps that depend on variables alone (weight preprocessing, such as the concatenation of weights
// for a merged matmul). The executor caches their results between calls and reruns them when one of
// the variables has a new version.
//
// Before: kernel %4 = concat %0, %1; matmul %5 = %2 x %4    (%0 and %1 are variables)
// After:  the kernel runs when %0 or %1 has another version than in its last run.
#pragma once

#include "backends/codegen/target.h"

#include <cstdint>
#include <vector>

namespace kiln::codegen {

/// For each argument of the program (inputs, then states), whether calls leave the tensor
/// unchanged: it is a variable that the program does not update.
std::vector<bool> unchanged_arguments(const LoweredModule& lowered);

/// The steps whose results are cached, and the slots that they write and read.
struct CachedSteps {
  std::vector<std::uint8_t> is_cached_step;  // of each step
  std::vector<std::uint8_t> is_cached_slot;  // of each slot: cached steps write it
  std::vector<int> arguments;                // slots of the arguments that they depend on
};

/// Finds the kernels that read only unchanged arguments, constants and each other's results, cannot
/// fail and draw no random numbers; of these, the ones that weights of library calls or loop
/// invariants depend on. `unchanged`: of each argument, from unchanged_arguments(); empty for a
/// body, which caches nothing.
CachedSteps find_cached_steps(const Plan& plan, const std::vector<BuiltKernel>& kernels,
                              const std::vector<bool>& unchanged);

}  // namespace kiln::codegen
