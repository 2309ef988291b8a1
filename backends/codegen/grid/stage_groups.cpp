// Greedy: a stage joins the group before it or begins a new one.
#include "backends/codegen/grid/stage_groups.h"

#include "backends/codegen/grid/dependences.h"
#include "backends/codegen/kernel/needed.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

bool writes(const Kernel& kernel, const StageGroup& group, int operand) {
  for (int stage = group.first; stage < group.last; ++stage) {
    for (const Store& store : kernel.stages[at(stage)].stores) {
      if (kernel.accesses[at(store.access)].operand == operand) return true;
    }
  }
  return false;
}

/// Whether the stage uses a result of the group, or loads an operand that the group writes: a value
/// that the loop has loaded before the write would be stale.
bool depends_on(const Kernel& kernel, int stage, const StageGroup& group) {
  const std::vector<bool> wanted = needed(kernel, roots_of(kernel, kernel.stages[at(stage)]));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    const Expression& e = kernel.expressions[i];
    if (e.kind == ExpressionKind::StageResult && e.number >= group.first) return true;
    if (e.kind != ExpressionKind::Load) continue;
    if (writes(kernel, group, kernel.accesses[at(e.number)].operand)) return true;
  }
  return false;
}

/// Whether the stage that follows the group can share its loop.
bool fits(const Kernel& kernel, const StageGroup& group) {
  const auto is_divided = [&](int stage) {
    const Stage& one = kernel.stages[at(stage)];
    return one.inner && one.kind != StageKind::Running;
  };
  if (!is_divided(group.first) || !is_divided(group.last)) return false;
  for (int earlier = group.first; earlier < group.last; ++earlier) {
    if (needs_barrier(kernel, earlier, group.last)) return false;
  }
  return !depends_on(kernel, group.last, group);
}

}  // namespace

std::vector<StageGroup> stage_groups(const Kernel& kernel, const std::vector<int>& barrier_before) {
  std::vector<StageGroup> groups;
  for (int stage = 0; stage < static_cast<int>(kernel.stages.size()); ++stage) {
    const bool has_barrier =
        std::find(barrier_before.begin(), barrier_before.end(), stage) != barrier_before.end();
    if (!groups.empty() && !has_barrier && fits(kernel, groups.back())) {
      ++groups.back().last;
    } else {
      groups.push_back({stage, stage + 1});
    }
  }
  return groups;
}

}  // namespace kiln::codegen
