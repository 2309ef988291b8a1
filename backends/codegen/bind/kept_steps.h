// Kernels that depend on variables alone, such as the concatenation of weights for one matmul. A
// frame keeps their results and runs them again when one of these variables has a new version.
//
// Before: kernel %4 = concat %0, %1; matmul %5 = %2 x %4    (%0 and %1 are variables)
// After:  the kernel runs when %0 or %1 has another version than in the last run of the frame.
#pragma once

#include "backends/codegen/target.h"

#include <cstdint>
#include <vector>

namespace kiln::codegen {

/// For each argument of the program (inputs, then states), whether no call of it changes the
/// tensor: a variable that the program does not update.
std::vector<bool> unchanged_arguments(const LoweredModule& lowered);

/// The steps whose results are kept, and the slots that they write and read.
struct KeptSteps {
  std::vector<std::uint8_t> is_kept_step;  // of each step
  std::vector<std::uint8_t> is_kept_slot;  // of each slot: kept steps write it
  std::vector<int> arguments;              // slots of the arguments they depend on
};

/// Kernels that read only kept arguments, constants and each other's results, cannot fail and draw
/// no random numbers; of these, the ones that weights of library calls or loop invariants depend
/// on. `kept`: of each argument, as unchanged_arguments has them; empty for a body, which keeps
/// none.
KeptSteps find_kept_steps(const Plan& plan, const std::vector<BuiltKernel>& kernels,
                          const std::vector<bool>& kept);

}  // namespace kiln::codegen
