// Splits reductions with too few results to occupy the target into partial reductions and a
// reduction of the partial results (split-k). Parts follow from sizes and the target's description
// alone and are combined in ascending order.
#pragma once

#include "backends/codegen/fusion/units.h"
#include "backends/codegen/kernel/build/build_kernel.h"

namespace kiln::codegen {

/// Splits reductions to few results, and column sums of kernels that iterate over rows; gives
/// whether there were any. A target with `divides_reductions` keeps its reductions whole: its
/// launches divide them. Column sums are additions to memory, which no launch divides. Appends
/// kernels to `kernels` and tensors of partial results to `units.made`. REQUIRES: no schedule has
/// changed the kernels' axes.
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
