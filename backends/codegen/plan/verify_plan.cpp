// The last writer of every slot, then the readers.
#include "backends/codegen/plan/verify_plan.h"

#include "backends/codegen/plan/in_place.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>

namespace kiln::codegen {
namespace {

[[noreturn]] void broken(const std::string& fact) {
  throw InternalError("verify", "", "the plan is broken: " + fact);
}

bool is_given(const Slot& slot) {
  return slot.kind == Slot::Kind::Argument || slot.kind == Slot::Kind::Constant;
}

bool has(const std::vector<int>& slots, int slot) {
  return std::find(slots.begin(), slots.end(), slot) != slots.end();
}

/// `stacked`: results that no step writes, because carries lie where they are.
void verify(const Plan& plan, const std::vector<BuiltKernel>& kernels,
            const std::vector<int>& stacked);

/// The stacked results of a loop that its body does not write, each of one carry.
std::vector<int> results_in_stacks(const Plan& plan, const LoopStep& loop) {
  std::vector<int> found;
  const auto is_temporary = [&](int result) {
    const int slot = loop.results.at(static_cast<std::size_t>(result));
    return plan.slots.at(static_cast<std::size_t>(slot)).kind == Slot::Kind::Temporary;
  };
  for (const CarryStacks& stacks : loop.carry_stacks) {
    for (const int result : {stacks.before, stacks.after}) {
      if (result < 0) continue;
      if (has(found, result)) broken(text("result ", result, " of a loop stacks two carries"));
      found.push_back(result);
    }
    if (stacks.before < 0 || stacks.after < 0) continue;
    if (is_temporary(stacks.before) && is_temporary(stacks.after)) continue;
    broken(text("stacks of carry ", stacks.carry, " of a loop are not temporary"));
  }
  return found;
}

void verify_bodies(const Plan& plan, const Step& step, const std::vector<BuiltKernel>& kernels) {
  if (const auto* loop = std::get_if<LoopStep>(&step)) {
    verify(*loop->body, kernels, results_in_stacks(plan, *loop));
  }
  const auto* branch = std::get_if<BranchStep>(&step);
  if (branch == nullptr) return;
  for (const auto& body : branch->branches) verify(*body, kernels);
}

void verify(const Plan& plan, const std::vector<BuiltKernel>& kernels,
            const std::vector<int>& stacked) {
  std::vector<std::ptrdiff_t> last_writer(plan.slots.size(), -1);
  std::vector<Touched> all;
  for (const Step& step : plan.steps) {
    all.push_back(touched(step, kernels));
    const auto number = static_cast<std::ptrdiff_t>(all.size()) - 1;
    for (const int slot : all.back().written) {
      if (is_given(plan.slots.at(static_cast<std::size_t>(slot)))) {
        broken(text("step ", number, " writes %", slot, ", which is given"));
      }
      last_writer[static_cast<std::size_t>(slot)] = number;
    }
    verify_bodies(plan, step, kernels);
  }
  for (std::size_t step = 0; step < all.size(); ++step) {
    for (const int slot : all[step].read) {
      const auto i = static_cast<std::size_t>(slot);
      if (is_given(plan.slots.at(i)) || has(all[step].written, slot)) continue;
      const std::ptrdiff_t writer = last_writer[i];
      if (writer >= 0 && writer < static_cast<std::ptrdiff_t>(step)) continue;
      broken(text("step ", step, " reads %", slot, ", which ",
                  writer < 0 ? "nothing writes" : text("step ", writer, " writes")));
    }
  }
  for (std::size_t i = 0; i < plan.results.size(); ++i) {
    const int slot = plan.results[i];
    const bool is_stacked = has(stacked, static_cast<int>(i));
    const bool is_written = last_writer[static_cast<std::size_t>(slot)] >= 0;
    if (is_stacked && is_written) broken(text("the body writes the stack %", slot, " of a carry"));
    if (!is_stacked && !is_written) broken(text("nothing writes the result %", slot));
  }
}

}  // namespace

void verify(const Plan& plan, const std::vector<BuiltKernel>& kernels) {
  verify(plan, kernels, {});
}

}  // namespace kiln::codegen
