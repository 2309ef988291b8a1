// Computes a greatest fixed point: starts with all candidates and drops those that use a slot which
// is not cacheable. Then keeps only the steps that weights or loop invariants depend on.
#include "backends/codegen/bind/cached_steps.h"

#include "backends/codegen/plan/step_effects.h"
#include "core/types/at.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

class CacheFinder {
 public:
  CacheFinder(const Plan& plan, const BuiltKernels& kernels, const std::vector<bool>& unchanged)
      : plan_(plan), kernels_(kernels), unchanged_(unchanged) {
    for (const Step& step : plan.steps) effects_.push_back(effects_of(step, kernels));
  }

  CachedSteps run() {
    found_.is_cached_step.assign(plan_.steps.size(), 0);
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) found_.is_cached_step[s] = is_candidate(s);
    while (drop_one_round()) {
    }
    drop_unneeded();
    found_.group_of_slot.assign(plan_.slots.size(), -1);
    numbers_.assign(plan_.slots.size(), -1);
    find_groups();
    found_.group_of_slot = std::move(numbers_);
    return std::move(found_);
  }

 private:
  bool is_unchanged_argument(SlotId slot) const {
    const auto* argument = std::get_if<ArgumentSlot>(&plan_.slots[slot].kind);
    return argument && at(argument->number) < unchanged_.size() && unchanged_[at(argument->number)];
  }

  bool is_candidate(std::size_t s) const {
    const auto* step = std::get_if<KernelStep>(&plan_.steps[s]);
    if (!step || (s >= plan_.region_begin && s < plan_.region_end)) return false;
    const BuiltKernel& built = kernels_[step->kernel];
    const Kernel& kernel = built.kernel;
    const auto is_random = [](const Expression& e) { return e.kind == ExpressionKind::Random; };
    const auto may_fail = [](const Access& access) { return access.dynamic; };
    return built.nonempty.empty() &&
           std::none_of(kernel.expressions.begin(), kernel.expressions.end(), is_random) &&
           std::none_of(kernel.accesses.begin(), kernel.accesses.end(), may_fail);
  }

  /// Temporaries that only candidates write.
  IdVector<SlotId, bool> slots_of_candidates() const {
    IdVector<SlotId, bool> cacheable(plan_.slots.size(), false), spoiled = cacheable;
    for (std::size_t s = 0; s < effects_.size(); ++s) {
      for (const SlotId slot : effects_[s].written) {
        const bool temporary = plan_.slots[slot].is<TemporarySlot>();
        (found_.is_cached_step[s] && temporary ? cacheable : spoiled)[slot] = true;
      }
    }
    for (const SlotId i : cacheable.ids()) cacheable[i] = cacheable[i] && !spoiled[i];
    return cacheable;
  }

  bool drop_one_round() {
    const IdVector<SlotId, bool> cacheable = slots_of_candidates();
    const auto is_cacheable = [&](SlotId slot) {
      return cacheable[slot] || is_unchanged_argument(slot) || plan_.slots[slot].is<ConstantSlot>();
    };
    bool dropped = false;
    for (std::size_t s = 0; s < effects_.size(); ++s) {
      const StepEffects& effects = effects_[s];
      const bool stays = std::all_of(effects.read.begin(), effects.read.end(), is_cacheable) &&
                         std::all_of(effects.written.begin(), effects.written.end(), is_cacheable);
      if (!found_.is_cached_step[s] || stays) continue;
      found_.is_cached_step[s] = 0;
      dropped = true;
    }
    return dropped;
  }

  /// The right operand of a matmul or the filter of a convolution.
  static SlotId weights_of(const LibraryStep& call) {
    if (call.node->op != ir::Op::Conv) return call.rhs;
    const ir::ConvRole role = call.node->as<ir::ConvAttrs>().role;
    return role == ir::ConvRole::Input ? call.lhs : call.rhs;
  }

  /// Weights and biases of library calls, and what loops read in every iteration.
  IdVector<SlotId, bool> wanted_slots() const {
    IdVector<SlotId, bool> wanted(plan_.slots.size(), false);
    for (const Step& step : plan_.steps) {
      if (const LibraryStep* call = library_step(step)) {
        wanted[weights_of(*call)] = true;
        if (call->bias) wanted[call->bias] = true;
      }
      const auto* loop = std::get_if<LoopStep>(&step);
      if (!loop) continue;
      const auto consts = static_cast<std::size_t>(loop->node->as<ir::ScanAttrs>().consts);
      for (std::size_t i = 0; i < consts; ++i) wanted[loop->operands[i]] = true;
    }
    return wanted;
  }

  void drop_unneeded() {
    IdVector<SlotId, bool> wanted = wanted_slots();
    for (std::size_t s = effects_.size(); s-- > 0;) {
      const StepEffects& effects = effects_[s];
      const auto is_wanted = [&](SlotId slot) { return wanted[slot]; };
      const bool stays = found_.is_cached_step[s] &&
                         std::any_of(effects.written.begin(), effects.written.end(), is_wanted);
      found_.is_cached_step[s] = stays;
      if (!stays) continue;
      for (const SlotId slot : effects.read) wanted[slot] = true;
    }
  }

  /// Unites the groups of steps that read or write a common slot which cached steps write.
  void find_groups() {
    std::vector<int> group_of_step(effects_.size(), -1);
    for (std::size_t s = 0; s < effects_.size(); ++s) {
      if (!found_.is_cached_step[s]) continue;
      group_of_step[s] = static_cast<int>(s);
      for (const SlotId slot : effects_[s].written) {
        found_.group_of_slot[slot] = static_cast<int>(s);
      }
    }
    const auto unite = [&](int from, int to) {
      std::replace(group_of_step.begin(), group_of_step.end(), from, to);
      std::replace(found_.group_of_slot.begin(), found_.group_of_slot.end(), from, to);
    };
    for (std::size_t s = 0; s < effects_.size(); ++s) {
      if (!found_.is_cached_step[s]) continue;
      for (const auto* slots : {&effects_[s].read, &effects_[s].written}) {
        for (const SlotId slot : *slots) {
          const int other = found_.group_of_slot[slot];
          if (other >= 0 && other != group_of_step[s]) {
            unite(std::max(other, group_of_step[s]), std::min(other, group_of_step[s]));
          }
        }
      }
    }
    for (std::size_t s = 0; s < effects_.size(); ++s) {
      if (group_of_step[s] == static_cast<int>(s)) add_group(static_cast<int>(s), group_of_step);
    }
  }

  /// Adds the group of that number in `group_of_step`, and gives its slots the number in `groups`.
  void add_group(int number, const std::vector<int>& group_of_step) {
    CachedGroup group;
    const auto add = [](std::vector<SlotId>& to, SlotId slot) {
      if (std::find(to.begin(), to.end(), slot) == to.end()) to.push_back(slot);
    };
    for (std::size_t s = 0; s < effects_.size(); ++s) {
      if (group_of_step[s] != number) continue;
      group.steps.push_back(static_cast<int>(s));
      for (const SlotId slot : effects_[s].written) add(group.slots, slot);
      for (const SlotId slot : effects_[s].read) {
        if (is_unchanged_argument(slot)) add(group.arguments, slot);
      }
    }
    for (const SlotId slot : group.slots) {
      numbers_[slot] = static_cast<int>(found_.groups.size());
    }
    found_.groups.push_back(std::move(group));
  }

  const Plan& plan_;
  const BuiltKernels& kernels_;
  const std::vector<bool>& unchanged_;
  std::vector<StepEffects> effects_;
  CachedSteps found_;
  IdVector<SlotId, int> numbers_;  // CachedSteps::group_of_slot
};

}  // namespace

CachedSteps find_cached_steps(const Plan& plan, const BuiltKernels& kernels,
                              const std::vector<bool>& unchanged) {
  if (!unchanged.empty()) return CacheFinder(plan, kernels, unchanged).run();
  CachedSteps none;
  none.is_cached_step.assign(plan.steps.size(), 0);
  none.group_of_slot.assign(plan.slots.size(), -1);
  return none;
}

std::string print(const CachedSteps& cached) {
  std::string out;
  for (const CachedGroup& group : cached.groups) {
    std::string arguments;
    for (const SlotId slot : group.arguments) {
      arguments += text(arguments.empty() ? "" : ", ", slot);
    }
    for (const int step : group.steps) {
      out += text("# step ", step, " runs when one of ", arguments, " has changed\n");
    }
  }
  return out;
}

}  // namespace kiln::codegen
