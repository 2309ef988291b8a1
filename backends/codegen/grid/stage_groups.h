// Stages that lanes compute in one loop over their points.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// Stages [first, last).
struct StageGroup {
  int first = 0, last = 0;
};

/// All stages in their order. A group of several has stages over inner axes that need no result of
/// each other, load nothing that others of the group write, and need no barrier: at each point they
/// run one after the other and share what they load. A stage of `barrier_before` begins a group.
std::vector<StageGroup> stage_groups(const Kernel& kernel, const std::vector<int>& barrier_before);

}  // namespace kiln::codegen
