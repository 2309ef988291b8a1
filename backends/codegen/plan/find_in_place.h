// Before: variable %0; kernel %4 = %0 - %3; the new value of %0 is %4
// After:  the executor may give %4 the buffer of %0 (buffer aliasing)
#pragma once

#include "backends/codegen/plan/plan.h"

#include <cstdint>

namespace kiln::codegen {

struct ResultOverArgument {
  int result = 0, argument = 0;  // numbers in Plan::results and Plan::arguments
};
/// For each, 1 when the result may alias the argument's buffer: one step writes the result, element
/// by element if it also reads the argument, no later step reads the argument, and no step from
/// that one on can fail, but for a row update step, which fails before it writes.
std::vector<std::uint8_t> find_in_place(const Program& program,
                                        const std::vector<ResultOverArgument>& wanted);

/// Whether a kernel may write the slot `to` over `from`: each point reads and writes the same
/// element and no point comes back to it.
bool writes_in_place(const Kernel& kernel, const KernelStep& step, int from, int to);

}  // namespace kiln::codegen
