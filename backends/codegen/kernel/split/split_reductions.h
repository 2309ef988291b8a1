// Splits reductions that too few points compute, so that every unit of the machine has work. Parts
// depend on sizes and the target's description alone and are combined in one order.
#pragma once

#include "backends/codegen/fusion/units.h"
#include "backends/codegen/kernel/build/built_kernel.h"

namespace kiln::codegen {

/// The kernels of each unit of a computation, in the order in which they run, as numbers in
/// Program::kernels.
using KernelsOfUnits = std::vector<std::vector<int>>;

/// Splits reductions to few points, and sums down the columns in kernels that go row by row; says
/// whether there were any. New kernels go to `kernels`, the tensors of parts to `units.made`.
/// REQUIRES: axes of kernels are as they were built.
/// Before: axes | [1000][1000]; reduce sum(x); s = sum
/// After: axes [1000] | [1000]; reduce sum(x); parts = sum
///        axes | [1000]; reduce sum(parts); s = sum
/// Before: axes [64][512]; s = 0
///         axes [2048] | [512]; s += x
/// After: axes [64][512]; parts = 0
///        axes [64][32] | [512]; parts += x
///        axes [512] | [64]; reduce sum(parts); s = sum
bool split_reductions(Units& units, KernelsOfUnits& kernels_of_units,
                      std::vector<BuiltKernel>& kernels, const TargetDescription& target,
                      bool is_body);

}  // namespace kiln::codegen
