// Race analysis of accumulating stores: the outer axes along which threads may divide the points.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// Whether some store accumulates.
bool adds_to_memory(const Kernel& kernel);

/// Whether the access is injective over the axes from `begin` on with
/// nonzero strides: its offset is a mixed-radix number with their
/// indices as digits, so distinct indices give distinct elements.
bool is_injective(const Kernel& kernel, const Access& access, int begin);

/// Whether the stages use the operand through this access alone.
bool is_only_access(const Kernel& kernel, AccessId access);

/// The outer axes that threads may divide without races, ascending: two points that may add to the
/// same element have equal indices along all of them.
std::vector<int> parallel_axes(const Kernel& kernel);

}  // namespace kiln::codegen
