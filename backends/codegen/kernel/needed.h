// Backward slices: the expressions that a value or a stage depends on.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// For each expression, whether it is in the backward slice of `roots`; dynamic indices and guards
/// of loads count as arguments. Negative roots are ignored. O(expressions).
std::vector<bool> needed(const Kernel& kernel, const std::vector<int>& roots);
/// The same; the slice stops at expressions that are already evaluated (`is_known`).
std::vector<bool> needed(const Kernel& kernel, const std::vector<int>& roots,
                         const std::vector<bool>& is_known);
/// The expressions that a stage evaluates: its value, its stores,
/// their dynamic indices and guards.
std::vector<int> roots_of(const Kernel& kernel, const Stage& stage);

}  // namespace kiln::codegen
