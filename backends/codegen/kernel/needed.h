// Which expressions of a kernel a value or a stage is computed from.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// Of each expression, whether one of `roots` is computed from it, through dynamic indices and
/// guards of loads too. Negative roots count for nothing.
std::vector<bool> needed(const Kernel& kernel, const std::vector<int>& roots);
/// The expressions that a stage evaluates: its value, its stores, their dynamic indices
/// and guards.
std::vector<int> roots_of(const Kernel& kernel, const Stage& stage);

}  // namespace kiln::codegen
