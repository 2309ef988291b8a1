// The expressions of a kernel that a value or a stage depends on.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// For each expression, whether one of `roots` depends on it; dynamic indices and guards of loads
/// count as arguments. Negative roots are ignored.
std::vector<bool> needed(const Kernel& kernel, const std::vector<int>& roots);
/// The same, where `is_known` says which expressions have values: their arguments are not needed.
std::vector<bool> needed(const Kernel& kernel, const std::vector<int>& roots,
                         const std::vector<bool>& is_known);
/// The expressions that a stage evaluates: its value, its stores, their dynamic indices
/// and guards.
std::vector<int> roots_of(const Kernel& kernel, const Stage& stage);

}  // namespace kiln::codegen
