// Takes the first and the last step over the effects of all steps.
#include "backends/codegen/plan/lifetimes.h"

#include "backends/codegen/plan/step_effects.h"

#include <algorithm>

namespace kiln::codegen {

IdVector<SlotId, Lifetime> lifetimes(const Plan& plan, const BuiltKernels& kernels) {
  IdVector<SlotId, Lifetime> lives(plan.slots.size());
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const StepEffects now = effects_of(plan.steps[s], kernels);
    const bool is_in_opening = s < plan.opening_end;
    const std::size_t end = is_in_opening ? plan.opening_end - 1 : s;
    for (const std::vector<SlotId>* list : {&now.read, &now.written}) {
      for (const SlotId slot : *list) {
        Lifetime& life = lives[slot];
        if (life.first < 0) life.first = static_cast<int>(s);
        life.last = static_cast<int>(end);
      }
    }
  }
  return lives;
}

}  // namespace kiln::codegen
