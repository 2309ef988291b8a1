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

void verify_bodies(const Step& step, const std::vector<BuiltKernel>& kernels) {
  if (const auto* loop = std::get_if<LoopStep>(&step)) verify(*loop->body, kernels);
  const auto* branch = std::get_if<BranchStep>(&step);
  if (branch == nullptr) return;
  for (const auto& body : branch->branches) verify(*body, kernels);
}

}  // namespace

void verify(const Plan& plan, const std::vector<BuiltKernel>& kernels) {
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
    verify_bodies(step, kernels);
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
  for (const int slot : plan.results) {
    if (last_writer[static_cast<std::size_t>(slot)] < 0) {
      broken(text("nothing writes the result %", slot));
    }
  }
}

}  // namespace kiln::codegen
