// Loop fusion of stages: consecutive stages that share one loop over the inner points.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

using StageGroup = IdRange<StageId>;

/// Partitions the stages, in order. Stages of one group are over inner axes, use no result of each
/// other, load no operand that the group writes, and need no barrier between them: at each point
/// they run in order and share loads and common expressions. A stage of `barrier_before` begins a
/// group. Example: a max and a sum over the same rows share one pass over them.
std::vector<StageGroup> stage_groups(const Kernel& kernel,
                                     const std::vector<StageId>& barrier_before);

}  // namespace kiln::codegen
