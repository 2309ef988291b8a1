// Visits the bodies of loops and branches.
#include "backends/codegen/bind/plan_facts.h"

#include "core/types/at.h"

namespace kiln::codegen {
namespace {

/// Sorts the operands of kernels by slot.
void list_kernel_uses(const Plan& plan, PlanFacts& facts) {
  std::vector<std::vector<std::uint32_t>> uses(plan.slots.size());
  std::uint32_t next = 0;
  for (const Step& step : plan.steps) {
    const auto* kernel = std::get_if<KernelStep>(&step);
    if (!kernel) continue;
    for (const int slot : kernel->slots) uses[at(slot)].push_back(next++);
  }
  facts.first_use.push_back(0);
  for (const auto& of_slot : uses) {
    facts.kernel_uses.insert(facts.kernel_uses.end(), of_slot.begin(), of_slot.end());
    facts.first_use.push_back(static_cast<std::uint32_t>(facts.kernel_uses.size()));
  }
}

}  // namespace

PlanFacts::PlanFacts(const Plan& plan, const std::vector<BuiltKernel>& kernels,
                     const std::vector<bool>& is_unchanged)
    : lifetimes(codegen::lifetimes(plan, kernels)),
      cached(find_cached_steps(plan, kernels, is_unchanged)),
      unchanged(is_unchanged) {
  for (const Step& step : plan.steps) effects.push_back(effects_of(step, kernels));
  list_kernel_uses(plan, *this);
}

ProgramFacts::ProgramFacts(const Program& program, const std::vector<bool>& unchanged) {
  facts_.emplace(&program.plan, PlanFacts(program.plan, program.kernels, unchanged));
  add_bodies(program.plan, program.kernels);
}

void ProgramFacts::add_bodies(const Plan& plan, const std::vector<BuiltKernel>& kernels) {
  const auto add = [&](const Plan& body) {
    if (facts_.emplace(&body, PlanFacts(body, kernels)).second) add_bodies(body, kernels);
  };
  for (const Step& step : plan.steps) {
    if (const auto* loop = std::get_if<LoopStep>(&step)) add(*loop->body);
    if (const auto* branch = std::get_if<BranchStep>(&step)) {
      for (const auto& body : branch->branches) add(*body);
    }
  }
}

}  // namespace kiln::codegen
