// Finds stacked carries by the copy steps of the body, which build_plan adds last.
#include "backends/codegen/plan/stack_carries.h"

#include "core/types/at.h"

#include <algorithm>
#include <map>

namespace kiln::codegen {
namespace {

/// The copies of a body to its stacked results.
class StackCopies {
 public:
  StackCopies(const Plan& body, int carries) : body_(body), is_dropped_(body.steps.size(), false) {
    for (int result = carries; result < static_cast<int>(body.results.size()); ++result) {
      result_of_.emplace(body.results[at(result)], result);
    }
    for (std::size_t step = 0; step < body.steps.size(); ++step) {
      const auto* copy = std::get_if<CopyStep>(&body.steps[step]);
      if (!copy || result_of_.count(copy->to) == 0) continue;
      from_[copy->from].push_back(step);
      to_[copy->to].push_back(step);
    }
  }

  /// The first stacked result that is copied from the slot; -1: none.
  int stack_of(SlotId slot) const {
    const auto found = from_.find(slot);
    if (found == from_.end()) return -1;
    int first = -1;
    for (const std::size_t step : found->second) {
      if (is_dropped_[step]) continue;
      const int result = result_of_.at(std::get<CopyStep>(body_.steps[step]).to);
      if (first < 0 || result < first) first = result;
    }
    return first;
  }

  /// Drops the first copy to the result; -1: none.
  void drop(int result) {
    if (result < 0) return;
    for (const std::size_t step : to_.at(body_.results[at(result)])) {
      if (is_dropped_[step]) continue;
      is_dropped_[step] = true;
      return;
    }
  }

  const std::vector<bool>& is_dropped() const { return is_dropped_; }

 private:
  using StepsOfSlots = std::map<SlotId, std::vector<std::size_t>>;

  const Plan& body_;
  std::map<SlotId, int> result_of_;  // by slot, the first
  StepsOfSlots from_, to_;
  std::vector<bool> is_dropped_;  // of each step
};

void erase_steps(Plan& body, const std::vector<bool>& is_dropped) {
  std::size_t step = 0;
  std::erase_if(body.steps, [&](const Step&) { return is_dropped[step++]; });
}

}  // namespace

bool stack_carries(const Plan& plan, LoopStep& loop, Plan& body) {
  const auto& attrs = loop.node->as<ir::ScanAttrs>();
  const auto carries = static_cast<int>(attrs.carry);
  const auto is_temporary = [&](int result) {
    return plan.slots[loop.results[at(result)]].is<TemporarySlot>();
  };
  StackCopies copies(body, carries);
  for (int carry = 0; carry < carries; ++carry) {
    const SlotId argument = body.arguments[at(1 + static_cast<int>(attrs.consts) + carry)];
    CarryStacks stacks{carry, !argument ? -1 : copies.stack_of(argument),
                       copies.stack_of(body.results[at(carry)])};
    if (stacks.before < 0 && stacks.after < 0) continue;
    const bool both = stacks.before >= 0 && stacks.after >= 0;
    if (both && !(is_temporary(stacks.before) && is_temporary(stacks.after))) stacks.before = -1;
    copies.drop(stacks.before);
    copies.drop(stacks.after);
    loop.carry_stacks.push_back(stacks);
  }
  erase_steps(body, copies.is_dropped());
  return !loop.carry_stacks.empty();
}

}  // namespace kiln::codegen
