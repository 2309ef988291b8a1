// Lowers kernel units to the loop form, which has the same meaning on every target: axes are those
// of the unit, and no lanes are chosen.
//
// Before: unit { %1 = tanh %0; %2 = sum %1 axes=[1] }
// After:  axes [4] | [8]; reduce sum tanh(load b0[i0, i1]); store b1[i0] = sum
#pragma once

#include "backends/codegen/fusion/units.h"
#include "backends/codegen/kernel/build/built_kernel.h"

namespace kiln::codegen {

/// The kernels of each unit of a computation, in the order in which they run, as numbers in
/// Program::kernels.
using KernelsOfUnits = std::vector<std::vector<int>>;

/// `number` makes the name unique.
BuiltKernel build_kernel(const Unit& unit, const Units& units, const SizeNames& names, int number);

/// Appends the kernels of a computation's units to `kernels`. Gives the numbers there of each
/// unit: one, or none when it is no kernel or all its values are computed where they are used.
KernelsOfUnits build_kernels(const Units& units, const SizeNames& names,
                             std::vector<BuiltKernel>& kernels);

}  // namespace kiln::codegen
