// Split-k: splits reductions with too few results to occupy the target into partial reductions and
// a reduction of the partial results. Parts depend on sizes and the target's description alone and
// are combined in ascending order, so that results do not depend on the number of threads.
#pragma once

#include "backends/codegen/fusion/fusion_plan.h"
#include "backends/codegen/kernel/build/build_kernel.h"

namespace kiln::codegen {

/// Splits reductions to few results, and column sums (Store in kernel.h); returns whether there
/// were any. A target with `divides_reductions` keeps its reductions whole, as its launches divide
/// them (grid/split_rows.h); column sums are additions to memory, which no launch divides. Appends
/// kernels to `kernels` and tensors of partial results to `fusion_plan.created_values`.
/// REQUIRES: no schedule has changed the kernels' axes.
///
/// A reduction:
/// Before: axes | [1000][1000]; reduce sum(x); s = sum
/// After:  axes [1000] | [1000]; reduce sum(x); parts = sum
///         axes | [1000]; reduce sum(parts); s = sum
/// A column sum with its fill:
/// Before: axes [512]; s = 0
///         axes [2048] | [512]; s += x
/// After:  axes [64][512]; parts = 0
///         axes [64][32] | [512]; parts += x
///         axes [512] | [64]; reduce sum(parts); s = sum
bool split_reductions(FusionPlan& fusion_plan, KernelsOfGroups& kernels_of_groups,
                      BuiltKernels& kernels, const TargetDescription& target, bool is_body);

}  // namespace kiln::codegen
