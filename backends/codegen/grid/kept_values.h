// Chooses values that lanes keep in registers between stages, so that later stages neither load nor
// compute them again.
#pragma once

#include "backends/codegen/grid/stage_groups.h"

namespace kiln::codegen {

/// The loads and expensive expressions that several groups of stages need, ascending: at most as
/// many as fit in `registers` of 32 bits with `points` values each (points of a lane). Values that
/// depend on loads from operands that the kernel writes are never kept.
std::vector<ExpressionId> kept_values(const Kernel& kernel, const std::vector<StageGroup>& groups,
                                      std::int64_t points, std::int64_t registers);

/// Whether the expression may be kept: it varies over inner points, and no stage changes its value.
bool can_be_kept(const Kernel& kernel, ExpressionId expression);

}  // namespace kiln::codegen
