// From a kernel unit to the loop form, which means the same on every target: axes are those of the
// unit, no lanes are chosen.
#pragma once

#include "backends/codegen/fusion/units.h"
#include "backends/codegen/kernel/build/built_kernel.h"

namespace kiln::codegen {

/// `number` makes the name unique.
BuiltKernel build_kernel(const Unit& unit, const Units& units, const SizeNames& names, int number);

/// Appends the kernels of a computation's units to `kernels`. Gives the numbers there of each
/// unit: one, or none when it is no kernel or all its values are computed where they are used.
std::vector<std::vector<int>> build_kernels(const Units& units, const SizeNames& names,
                                            std::vector<BuiltKernel>& kernels);

}  // namespace kiln::codegen
