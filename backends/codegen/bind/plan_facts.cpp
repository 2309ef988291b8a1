// Visits the bodies of loops and branches.
#include "backends/codegen/bind/plan_facts.h"

#include "backends/codegen/kernel/order_axes.h"
#include "backends/codegen/plan/buffer_aliasing.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

/// Sorts the operands of kernels by slot.
void list_kernel_uses(const Plan& plan, PlanFacts& facts) {
  IdVector<SlotId, std::vector<std::uint32_t>> uses(plan.slots.size());
  std::uint32_t next = 0;
  for (const Step& step : plan.steps) {
    facts.first_operand.push_back(next);
    const auto* kernel = std::get_if<KernelStep>(&step);
    if (!kernel) continue;
    for (const SlotId slot : kernel->slots) uses[slot].push_back(next++);
  }
  facts.first_use.push_back(0);
  for (const auto& of_slot : uses) {
    facts.kernel_uses.insert(facts.kernel_uses.end(), of_slot.begin(), of_slot.end());
    facts.first_use.push_back(static_cast<std::uint32_t>(facts.kernel_uses.size()));
  }
}

/// Lists the temporaries in the arena and the operands whose buffers they may take over.
class ArenaLister {
 public:
  ArenaLister(const Plan& plan, const BuiltKernels& kernels, PlanFacts& facts)
      : plan_(plan),
        kernels_(kernels),
        facts_(facts),
        may_be_reused_(plan.slots.size()),
        is_listed_(plan.slots.size()) {}

  void run() {
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      if (const auto* loop = std::get_if<LoopStep>(&plan_.steps[s])) skip_stacks(*loop);
      const std::size_t first = facts_.arena_tensors.size();
      for (const SlotId slot : facts_.effects[s].written) add(static_cast<int>(s), slot);
      for (std::size_t i = first; i < facts_.arena_tensors.size(); ++i) {
        may_be_reused_[facts_.arena_tensors[i].slot] = true;
      }
    }
  }

 private:
  /// The two stacks of a carry have one block. No tensor takes it over: the other stack may be live
  /// longer.
  void skip_stacks(const LoopStep& loop) {
    for (const CarryStacks& stacks : loop.carry_stacks) {
      if (stacks.before < 0 || stacks.after < 0) continue;
      is_listed_[loop.results[at(stacks.before)]] = true;
      is_listed_[loop.results[at(stacks.after)]] = true;
    }
  }

  void add(int step, SlotId slot) {
    if (is_listed_[slot] || !plan_.slots[slot].is<TemporarySlot>()) return;
    if (facts_.cached.group_of_slot[slot] >= 0) return;
    is_listed_[slot] = true;
    facts_.arena_tensors.push_back({step, slot, reusable(step, slot)});
  }

  std::vector<SlotId> reusable(int step, SlotId slot) const {
    std::vector<SlotId> found;
    const auto* kernel = std::get_if<KernelStep>(&plan_.steps[at(step)]);
    if (!kernel) return found;
    for (const SlotId from : facts_.effects[at(step)].read) {
      if (!may_be_reused_[from] || facts_.lifetimes[from].last != step) continue;
      if (can_share_buffer(kernels_[kernel->kernel].kernel, *kernel, from, slot)) {
        found.push_back(from);
      }
    }
    return found;
  }

  const Plan& plan_;
  const BuiltKernels& kernels_;
  PlanFacts& facts_;
  IdVector<SlotId, bool> may_be_reused_;  // of each slot: an earlier step writes it in the arena
  IdVector<SlotId, bool> is_listed_;  // of each slot
};

void count_library_operands(const Plan& plan, PlanFacts& facts) {
  facts.rhs_uses.resize(plan.slots.size());
  const auto may_stay = [&](SlotId slot) {
    return plan.slots[slot].is<ArgumentSlot>() || facts.cached.group_of_slot[slot] >= 0;
  };
  for (const Step& step : plan.steps) {
    const LibraryStep* const call = library_step(step);
    if (!call) continue;
    if (std::holds_alternative<MatmulStep>(step)) ++facts.rhs_uses[call->rhs];
    if (may_stay(call->lhs) || may_stay(call->rhs)) ++facts.max_packings;
  }
}

}  // namespace

PlanFacts::PlanFacts(const Plan& plan, const BuiltKernels& kernels,
                     const std::vector<bool>& is_unchanged)
    : shapes(plan),
      lifetimes(codegen::lifetimes(plan, kernels)),
      cached(find_cached_steps(plan, kernels, is_unchanged)),
      unchanged(is_unchanged) {
  for (const Step& step : plan.steps) effects.push_back(effects_of(step, kernels));
  list_kernel_uses(plan, *this);
  ArenaLister(plan, kernels, *this).run();
  count_library_operands(plan, *this);
}

KernelFacts::KernelFacts(const Kernel& kernel)
    : is_contiguous(kernel.vector_axis == 0 || across_axis(kernel) == 0),
      adds_columns(!column_sums(kernel).empty()) {}

ProgramFacts::ProgramFacts(const Program& program, const std::vector<bool>& unchanged) {
  facts_.emplace(&program.plan, PlanFacts(program.plan, program.kernels, unchanged));
  add_bodies(program.plan, program.kernels);
  for (const BuiltKernel& one : program.kernels) kernels_.emplace_back(one.kernel);
}

void ProgramFacts::add_bodies(const Plan& plan, const BuiltKernels& kernels) {
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
