// Before: variable %0; kernel %4 = %0 - %3; the new value of %0 is %4
// After:  the executor may let %4 lie in the memory of %0
#pragma once

#include "backends/codegen/plan/plan.h"

#include <cstdint>

namespace kiln::codegen {

struct ResultOverArgument {
  int result = 0, argument = 0;  // numbers in Plan::results and Plan::arguments
};
/// For each, 1 when that result may lie in the argument's memory: it is written where the argument
/// is read the last time, element by element, and no step from there on can fail.
std::vector<std::uint8_t> find_in_place(const Program& program,
                                        const std::vector<ResultOverArgument>& wanted);

/// Whether a kernel may write the slot `to` over `from`: each point reads and writes the same
/// element and no point comes back to it.
bool writes_in_place(const Kernel& kernel, const KernelStep& step, int from, int to);

}  // namespace kiln::codegen
