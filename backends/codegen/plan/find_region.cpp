// Counts readers and writers of each slot, then partitions the steps.
#include "backends/codegen/plan/find_region.h"

#include "backends/codegen/plan/step_effects.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

/// The number of steps that read and that write each slot.
struct Uses {
  IdVector<SlotId, int> reads, writes;
};

Uses count_uses(const Plan& plan, const BuiltKernels& kernels) {
  const IdVector<SlotId, int> none(plan.slots.size(), 0);
  Uses uses{none, none};
  for (const Step& step : plan.steps) {
    const StepEffects slots = effects_of(step, kernels);
    for (const SlotId slot : slots.read) ++uses.reads[slot];
    for (const SlotId slot : slots.written) ++uses.writes[slot];
  }
  return uses;
}

bool is_only_result(SlotId slot, const Plan& plan, const Uses& uses) {
  return plan.slots[slot].is<ResultSlot>() && uses.reads[slot] == 0 && uses.writes[slot] == 1;
}

/// Whether the step may move to the region.
bool is_independent(const Step& step, const Plan& plan, const BuiltKernels& kernels,
                    const Uses& uses) {
  const auto* kernel = std::get_if<KernelStep>(&step);
  if (!kernel || can_fail(*kernel, kernels)) return false;
  const std::vector<SlotId> written = effects_of(step, kernels).written;
  return std::all_of(written.begin(), written.end(),
                     [&](SlotId slot) { return is_only_result(slot, plan, uses); });
}

/// Moves the updates of a row update step to `last` when no step reads their results; returns
/// whether it did.
bool take_row_updates(Step& step, const Plan& plan, const Uses& uses, RowUpdateStep& last) {
  auto* rows = std::get_if<RowUpdateStep>(&step);
  if (!rows || !is_only_result(rows->updates[0].result, plan, uses)) return false;
  last.updates.insert(last.updates.end(), rows->updates.begin(), rows->updates.end());
  return true;
}

}  // namespace

void find_region(Plan& plan, const BuiltKernels& kernels) {
  const Uses uses = count_uses(plan, kernels);
  std::vector<Step> first, region, copies;
  RowUpdateStep rows;
  for (Step& step : plan.steps) {
    if (take_row_updates(step, plan, uses, rows)) continue;
    const auto* copied = std::get_if<CopyStep>(&step);
    const bool copy = copied != nullptr && is_only_result(copied->to, plan, uses);
    const bool moves = copied == nullptr && is_independent(step, plan, kernels, uses);
    (copy ? copies : moves ? region : first).push_back(std::move(step));
  }
  if (!rows.updates.empty()) first.push_back(std::move(rows));
  plan.region_begin = first.size();
  plan.region_end = first.size() + region.size();
  plan.steps = std::move(first);
  for (std::vector<Step>* list : {&region, &copies}) {
    for (Step& step : *list) plan.steps.push_back(std::move(step));
  }
}

}  // namespace kiln::codegen
