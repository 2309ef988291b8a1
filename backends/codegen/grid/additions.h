// Finds the outer points that different threads may compute when stores add to memory.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

bool adds_to_memory(const Kernel& kernel);

/// Whether the access is injective over the axes from `begin` on that it depends on: its offset is
/// a mixed-radix number of their indices, so different indices give different elements.
bool is_injective(const Kernel& kernel, const Access& access, int begin);

/// Whether the stages use the operand of this access by no other access.
bool is_only_access(const Kernel& kernel, int access);

/// The outer axes whose points may be spread over threads, ascending: points that may meet at an
/// element to which a store adds differ only along the others.
std::vector<int> apart_axes(const Kernel& kernel);

}  // namespace kiln::codegen
