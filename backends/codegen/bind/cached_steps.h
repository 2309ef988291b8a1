// Steps that depend on variables alone (weight preprocessing, such as the concatenation of weights
// for a merged matmul). The executor caches their results between calls and reruns them when one of
// the variables has a new version.
//
// Before: kernel %4 = concat %0, %1; matmul %5 = %2 x %4    (%0 and %1 are variables)
// After:  the kernel runs when %0 or %1 has another version than in its last run.
#pragma once

#include "backends/codegen/target.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kiln::codegen {

/// Cached steps that exchange tensors: their results are cached together.
struct CachedGroup {
  std::vector<int> steps;  // ascending
  std::vector<SlotId> slots;  // that they write
  std::vector<SlotId> arguments;  // slots of the arguments that they depend on
};

struct CachedSteps {
  std::vector<CachedGroup> groups;
  std::vector<std::uint8_t> is_cached_step;  // of each step
  IdVector<SlotId, int> group_of_slot;  // of each slot: whose steps write it; -1: none
};

/// Finds the kernels that read only unchanged arguments, constants and each other's results, cannot
/// fail and draw no random numbers; of these, the ones that weights and biases of library calls or
/// loop invariants depend on. `unchanged`: of each argument, from unchanged_arguments(); empty for
/// a body, which caches nothing.
CachedSteps find_cached_steps(const Plan& plan, const BuiltKernels& kernels,
                              const std::vector<bool>& unchanged);

/// A line of a report for each cached step: the arguments whose changes make it run again.
std::string print(const CachedSteps& cached);

}  // namespace kiln::codegen
