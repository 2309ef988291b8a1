// A lane computes the same inner points in every Map and Reduce stage over inner axes, so equal
// accesses of two such stages need no barrier. Running stages assign other points to a lane.
#include "backends/codegen/grid/dependences.h"

#include "backends/codegen/grid/additions.h"
#include "backends/codegen/kernel/needed.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

/// A load or a store of a stage.
struct MemoryUse {
  AccessId access;
  bool is_store = false;
};

std::vector<MemoryUse> uses_of(const Kernel& kernel, const Stage& stage) {
  std::vector<MemoryUse> uses;
  const ExpressionFlags wanted = needed(kernel, roots_of(kernel, stage));
  for (const ExpressionId i : wanted.ids()) {
    const Expression& e = kernel.expressions[i];
    if (wanted[i] && e.kind == ExpressionKind::Load) uses.push_back({e.access, false});
  }
  for (const Store& store : stage.stores) uses.push_back({store.access, true});
  return uses;
}

bool is_same_element(const Kernel& kernel, AccessId first, AccessId second) {
  const Access &a = kernel.accesses[first], &b = kernel.accesses[second];
  return a.operand == b.operand && !a.dynamic && !b.dynamic && a.offset == b.offset &&
         a.strides == b.strides;
}

bool is_conflict(const Kernel& kernel, const MemoryUse& a, const MemoryUse& b) {
  const bool is_shared = kernel.accesses[a.access].operand == kernel.accesses[b.access].operand;
  return is_shared && (a.is_store || b.is_store);
}

/// Whether distinct inner points access distinct elements.
bool has_own_elements(const Kernel& kernel, const Access& access) {
  for (std::size_t axis = at(kernel.outer); axis < kernel.axes.size(); ++axis) {
    if (access.strides[axis] == ir::Dim(0) && !kernel.axes[axis].is_one()) return false;
  }
  const bool is_fixed = !access.dynamic || !depends_on_inner(kernel)[access.dynamic];
  return is_fixed && is_injective(kernel, access, kernel.outer);
}

std::string order_reason(const Kernel& kernel, const Stage& stage) {
  if (!stage.inner) return "";
  const std::vector<MemoryUse> uses = uses_of(kernel, stage);
  for (const Store& store : stage.stores) {
    const bool is_disjoint = has_own_elements(kernel, kernel.accesses[store.access]) &&
                             (!store.accumulate || is_only_access(kernel, store.access));
    if (!is_disjoint) return "several inner points write to one element";
    for (const MemoryUse& use : uses) {
      const bool is_other = !use.is_store && is_conflict(kernel, use, {store.access, true}) &&
                            !is_same_element(kernel, use.access, store.access);
      if (is_other) return "a stage reads what it writes";
    }
  }
  return "";
}

/// Whether the stage uses the result of an earlier running stage.
bool uses_running(const Kernel& kernel, StageId stage) {
  const ExpressionFlags wanted = needed(kernel, roots_of(kernel, kernel.stages[stage]));
  for (const ExpressionId i : wanted.ids()) {
    const Expression& e = kernel.expressions[i];
    const bool is_other = wanted[i] && e.kind == ExpressionKind::StageResult && e.stage != stage;
    if (is_other && kernel.stages[e.stage].kind == StageKind::Running) return true;
  }
  return false;
}

}  // namespace

std::string order_reason(const Kernel& kernel) {
  for (const StageId stage : kernel.stages.ids()) {
    if (uses_running(kernel, stage)) return "a stage uses running values of another";
  }
  for (const Stage& stage : kernel.stages) {
    std::string reason = order_reason(kernel, stage);
    if (!reason.empty()) return reason;
  }
  return "";
}

bool needs_barrier(const Kernel& kernel, StageId earlier, StageId later) {
  const Stage &first = kernel.stages[earlier], &second = kernel.stages[later];
  if (!first.inner && !second.inner) return false;  // lane 0 runs both
  const auto is_divided = [](const Stage& stage) {
    return stage.inner && stage.kind != StageKind::Running;
  };
  const bool is_divided_alike = is_divided(first) && is_divided(second);
  for (const MemoryUse& a : uses_of(kernel, first)) {
    for (const MemoryUse& b : uses_of(kernel, second)) {
      if (!is_conflict(kernel, a, b)) continue;
      if (!is_divided_alike || !is_same_element(kernel, a.access, b.access)) return true;
    }
  }
  return false;
}

std::vector<StageId> barrier_stages(const Kernel& kernel) {
  std::vector<StageId> stages;
  StageId begin(0);  // the first stage after the last barrier
  for (const StageId later : kernel.stages.ids()) {
    bool is_needed = false;
    for (const StageId earlier : IdRange{begin, later}) {
      is_needed = is_needed || needs_barrier(kernel, earlier, later);
    }
    if (!is_needed) continue;
    stages.push_back(later);
    begin = later;
  }
  return stages;
}

}  // namespace kiln::codegen
