// From a kernel unit to the loop form.
#pragma once

#include "backends/codegen/fusion/units.h"
#include "backends/codegen/kernel/build/built_kernel.h"

namespace kiln::codegen {

/// `number` makes the name unique.
BuiltKernel build_kernel(const Unit& unit, const Units& units, const SizeNames& names, int number);

/// Appends the kernels of a computation's units to `kernels`. Gives the number there of each unit:
/// -1 of one that is no kernel or whose values are all computed where they are used.
std::vector<int> build_kernels(const Units& units, const SizeNames& names,
                               std::vector<BuiltKernel>& kernels);

/// Expensive values of a reduction that a later stage needs, too, are kept where that stage writes.
void reuse_stored(Kernel& kernel);

/// Where no access goes from neighbour to neighbour along the last outer axis, another one along
/// which some go becomes it. Axis 0 stays.
void order_outer_axes(Kernel& kernel);
/// Whether neighbours lie together along the last outer axis and not along the last one.
bool lanes_belong_outside(const Kernel& kernel);

/// Merges neighbouring axes that every access runs through as one.
void collapse_axes(Kernel& kernel);

}  // namespace kiln::codegen
