// The last steps of a plan: new values of variables, which may be written over the old ones. They
// are moved behind all others. By then nothing is left that could fail, and none of them waits for
// another, so that they run as one region.
#pragma once

#include "backends/codegen/plan/plan.h"

#include <cstdint>

namespace kiln::codegen {

/// Slots that a step reads, and those it writes.
struct Touched {
  std::vector<int> read, written;
};
Touched touched(const Step& step, const std::vector<BuiltKernel>& kernels);

/// Moves kernels that cannot fail and make results that no step reads behind the others; copies
/// stay last. They become the plan's region.
void find_region(Plan& plan, const std::vector<BuiltKernel>& kernels);

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
