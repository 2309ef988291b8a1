// Finds stacked carries by the copy steps of the body, which build_plan adds last.
#include "backends/codegen/plan/stack_carries.h"

#include "core/types/at.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

/// The first stacked result of the body that is copied from the slot; -1: none.
int stack_of(int slot, int carries, const Plan& body) {
  for (int result = carries; result < static_cast<int>(body.results.size()); ++result) {
    const auto is_copy = [&](const Step& step) {
      const auto* copy = std::get_if<CopyStep>(&step);
      return copy && copy->from == slot && copy->to == body.results[at(result)];
    };
    if (std::any_of(body.steps.begin(), body.steps.end(), is_copy)) return result;
  }
  return -1;
}

void drop_copy(int result, Plan& body) {
  if (result < 0) return;
  const auto is_copy = [&](const Step& step) {
    const auto* copy = std::get_if<CopyStep>(&step);
    return copy && copy->to == body.results[at(result)];
  };
  body.steps.erase(std::find_if(body.steps.begin(), body.steps.end(), is_copy));
}

}  // namespace

bool stack_carries(const Plan& plan, LoopStep& loop, Plan& body) {
  const auto& attrs = loop.node->as<ir::ScanAttrs>();
  const auto carries = static_cast<int>(attrs.carry);
  const auto is_temporary = [&](int result) {
    return plan.slots[at(loop.results[at(result)])].is<TemporarySlot>();
  };
  for (int carry = 0; carry < carries; ++carry) {
    const int argument = body.arguments[at(1 + static_cast<int>(attrs.consts) + carry)];
    CarryStacks stacks{carry, argument < 0 ? -1 : stack_of(argument, carries, body),
                       stack_of(body.results[at(carry)], carries, body)};
    if (stacks.before < 0 && stacks.after < 0) continue;
    const bool both = stacks.before >= 0 && stacks.after >= 0;
    if (both && !(is_temporary(stacks.before) && is_temporary(stacks.after))) stacks.before = -1;
    drop_copy(stacks.before, body);
    drop_copy(stacks.after, body);
    loop.carry_stacks.push_back(stacks);
  }
  return !loop.carry_stacks.empty();
}

}  // namespace kiln::codegen
