// Chooses the values of inner points that lanes keep in registers between stages.
#pragma once

#include "backends/codegen/grid/stage_groups.h"

namespace kiln::codegen {

/// Loads and expensive expressions that several groups of stages need, ascending: at most as
/// many as fit `registers` of 32 bits with `points` values each. A load from an operand that the
/// kernel writes is never kept.
std::vector<int> kept_values(const Kernel& kernel, const std::vector<StageGroup>& groups,
                             std::int64_t points, std::int64_t registers);

/// Whether the expression may be kept: it differs between inner points, and no stage changes it.
bool can_be_kept(const Kernel& kernel, int expression);

}  // namespace kiln::codegen
