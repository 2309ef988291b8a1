// Kernels of a plan whose results are the same as long as arguments that seldom change are: weights
// side by side, for one product. They run when one of these arguments changes.
//
// Before: kernel %4 = concat %0, %1; product %5 = %2 x %4    (%0 and %1 are variables)
// After:  the kernel runs when %0 or %1 has another version than in the last run of the frame.
#pragma once

#include "backends/codegen/host/bind/bind_inputs.h"

namespace kiln::codegen {

/// The steps whose results are kept, and the slots that they write and read.
struct KeptSteps {
  std::vector<std::uint8_t> is_kept_step, is_kept_slot;  // one for each; slots that are written
  std::vector<int> arguments;                            // slots of the arguments they depend on
};

/// Steps that read kept arguments, constants and each other's results alone, that cannot fail and
/// draw no random numbers, as far as right operands of library calls or constants of loops depend
/// on them. None in bodies.
KeptSteps find_kept_steps(const Plan& plan, const std::vector<BuiltKernel>& kernels,
                          const PlanUse& use);

}  // namespace kiln::codegen
