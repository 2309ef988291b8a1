// Counts the steps of each key, then partitions the steps.
#include "backends/codegen/plan/gather_equal_kernels.h"

#include "backends/codegen/kernel/kernel_key.h"
#include "backends/codegen/kernel/variable_extent.h"
#include "backends/codegen/plan/step_effects.h"

#include <algorithm>
#include <unordered_map>

namespace kiln::codegen {
namespace {

/// Empty for a step that cannot move to the opening.
std::string key_of_step(const Step& step, const Plan& plan, const BuiltKernels& kernels) {
  const auto* kernel = std::get_if<KernelStep>(&step);
  if (!kernel || can_fail(*kernel, kernels)) return "";
  const StepEffects effects = effects_of(step, kernels);
  const auto is_given = [&](SlotId slot) {
    return plan.slots[slot].is<ArgumentSlot>() || plan.slots[slot].is<ConstantSlot>();
  };
  const auto is_temporary = [&](SlotId slot) { return plan.slots[slot].is<TemporarySlot>(); };
  if (!std::ranges::all_of(effects.read, is_given)) return "";
  if (!std::ranges::all_of(effects.written, is_temporary)) return "";
  return batch_key(kernels[kernel->kernel].kernel);
}

}  // namespace

std::string batch_key(const Kernel& kernel) {
  const std::optional<Kernel> variable = with_variable_extent(kernel);
  return key_of(variable ? *variable : kernel);
}

void gather_equal_kernels(Plan& plan, const BuiltKernels& kernels) {
  std::vector<std::string> keys;
  std::unordered_map<std::string, int> steps_of_key;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const bool is_in_region = s >= plan.region_begin && s < plan.region_end;
    keys.push_back(is_in_region ? "" : key_of_step(plan.steps[s], plan, kernels));
    ++steps_of_key[keys.back()];
  }
  std::vector<Step> opening, others;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const bool moves = !keys[s].empty() && steps_of_key[keys[s]] > 1;
    (moves ? opening : others).push_back(std::move(plan.steps[s]));
  }
  plan.opening_end = opening.size();
  plan.steps = std::move(opening);
  std::ranges::move(others, std::back_inserter(plan.steps));
}

}  // namespace kiln::codegen
