// Stores that add to memory: which outer points different threads may compute.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

bool adds_to_memory(const Kernel& kernel);

/// Whether points with different indices along those axes never meet at one element: the axes from
/// `begin` on that the access depends on are the digits of its offset.
bool is_injective(const Kernel& kernel, const Access& access, int begin);

/// Whether the stages use the operand of an access by this access alone.
bool is_only_access(const Kernel& kernel, int access);

/// The outer axes whose points may be spread over threads, ascending: points that may meet at an
/// element to which a store adds differ only along the others.
std::vector<int> apart_axes(const Kernel& kernel);

}  // namespace kiln::codegen
