// Buffer aliasing of results and arguments: the new value of a variable may overwrite the old one
// (XLA: input-output aliasing).
//
// Before: variable %0; kernel %4 = %0 - %3; the new value of %0 is %4
// After:  the executor may give %4 the buffer of %0
#pragma once

#include "backends/codegen/plan/plan.h"

#include <cstdint>

namespace kiln::codegen {

/// A result that is wanted in the buffer of an argument: indices into Plan::results and
/// Plan::arguments.
struct InputOutputAlias {
  int result = 0, argument = 0;
};
/// For each pair, 1 when the result may share the argument's buffer. All of this must hold:
/// - a single step writes the result, and if it also reads the argument, then element by element;
/// - no other step reads the argument at the same time or later (steps of the region run in
///   parallel, so for a writer there "later" begins with the region);
/// - neither that step nor a later one can fail: a failed call leaves variables unchanged. A row
///   update step may fail itself, because it checks all indices before it writes.
std::vector<std::uint8_t> find_buffer_aliases(const Program& program,
                                              const std::vector<InputOutputAlias>& wanted);

/// Whether a kernel may write the slot `to` into the buffer of `from`: the kernel is a single map
/// stage, and all its accesses to both slots have the same static strides, so each point reads and
/// writes the same element and no other point touches that element.
bool can_share_buffer(const Kernel& kernel, const KernelStep& step, SlotId from, SlotId to);

}  // namespace kiln::codegen
