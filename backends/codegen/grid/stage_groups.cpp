// Greedy: a stage joins the group before it or begins a new one.
#include "backends/codegen/grid/stage_groups.h"

#include "backends/codegen/grid/dependences.h"
#include "backends/codegen/kernel/needed.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

bool writes(const Kernel& kernel, const StageGroup& group, OperandId operand) {
  for (const StageId stage : group) {
    for (const Store& store : kernel.stages[stage].stores) {
      if (kernel.accesses[store.access].operand == operand) return true;
    }
  }
  return false;
}

/// Whether the stage uses a result of the group, or loads an operand that the group writes: a value
/// that the loop has loaded before the write would be stale.
bool depends_on(const Kernel& kernel, StageId stage, const StageGroup& group) {
  const ExpressionFlags wanted = needed(kernel, roots_of(kernel, kernel.stages[stage]));
  for (const ExpressionId i : wanted.ids()) {
    if (!wanted[i]) continue;
    const Expression& e = kernel.expressions[i];
    if (e.kind == ExpressionKind::StageResult && e.stage >= group.first) return true;
    if (e.kind != ExpressionKind::Load) continue;
    if (writes(kernel, group, kernel.accesses[e.access].operand)) return true;
  }
  return false;
}

/// Whether the stage that follows the group can share its loop.
bool fits(const Kernel& kernel, const StageGroup& group) {
  const auto is_divided = [&](StageId stage) {
    const Stage& one = kernel.stages[stage];
    return one.inner && one.kind != StageKind::Running;
  };
  if (!is_divided(group.first) || !is_divided(group.last)) return false;
  for (const StageId earlier : group) {
    if (needs_barrier(kernel, earlier, group.last)) return false;
  }
  return !depends_on(kernel, group.last, group);
}

}  // namespace

std::vector<StageGroup> stage_groups(const Kernel& kernel,
                                     const std::vector<StageId>& barrier_before) {
  std::vector<StageGroup> groups;
  for (const StageId stage : kernel.stages.ids()) {
    const bool has_barrier =
        std::find(barrier_before.begin(), barrier_before.end(), stage) != barrier_before.end();
    const bool joins = !groups.empty() && !has_barrier && fits(kernel, groups.back());
    if (!joins) groups.push_back({stage, stage});
    ++groups.back().last;
  }
  return groups;
}

}  // namespace kiln::codegen
