// Computes a greatest fixed point: starts with all candidates and drops those that use a slot which
// is not cacheable. Then keeps only the steps that weights or loop invariants depend on.
#include "backends/codegen/bind/cached_steps.h"

#include "backends/codegen/plan/step_effects.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

class CacheFinder {
 public:
  CacheFinder(const Plan& plan, const std::vector<BuiltKernel>& kernels,
              const std::vector<bool>& unchanged)
      : plan_(plan), kernels_(kernels), unchanged_(unchanged) {
    for (const Step& step : plan.steps) effects_.push_back(effects_of(step, kernels));
  }

  CachedSteps run() {
    found_.is_cached_step.assign(plan_.steps.size(), 0);
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) found_.is_cached_step[s] = is_candidate(s);
    while (drop_one_round()) {
    }
    drop_unneeded();
    return std::move(found_);
  }

 private:
  bool is_unchanged_argument(int slot) const {
    const auto* argument = std::get_if<ArgumentSlot>(&plan_.slots[at(slot)].kind);
    return argument && at(argument->number) < unchanged_.size() && unchanged_[at(argument->number)];
  }

  bool is_candidate(std::size_t s) const {
    const auto* step = std::get_if<KernelStep>(&plan_.steps[s]);
    if (!step || (s >= plan_.region_begin && s < plan_.region_end)) return false;
    const BuiltKernel& built = kernels_[at(step->kernel)];
    const Kernel& kernel = built.kernel;
    const auto is_random = [](const Expression& e) { return e.kind == ExpressionKind::Random; };
    const auto may_fail = [](const Access& access) { return access.dynamic >= 0; };
    return built.nonempty.empty() &&
           std::none_of(kernel.expressions.begin(), kernel.expressions.end(), is_random) &&
           std::none_of(kernel.accesses.begin(), kernel.accesses.end(), may_fail);
  }

  /// Temporaries that only candidates write.
  std::vector<std::uint8_t> slots_of_candidates() const {
    std::vector<std::uint8_t> cacheable(plan_.slots.size(), 0), spoiled = cacheable;
    for (std::size_t s = 0; s < effects_.size(); ++s) {
      for (const int slot : effects_[s].written) {
        const bool temporary = plan_.slots[at(slot)].is<TemporarySlot>();
        (found_.is_cached_step[s] && temporary ? cacheable : spoiled)[at(slot)] = 1;
      }
    }
    for (std::size_t i = 0; i < cacheable.size(); ++i) cacheable[i] = cacheable[i] && !spoiled[i];
    return cacheable;
  }

  bool drop_one_round() {
    const std::vector<std::uint8_t> cacheable = slots_of_candidates();
    const auto is_cacheable = [&](int slot) {
      return cacheable[at(slot)] || is_unchanged_argument(slot) ||
             plan_.slots[at(slot)].is<ConstantSlot>();
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
  static int weights_of(const LibraryStep& call) {
    if (call.node->op != ir::Op::Conv) return call.rhs;
    const ir::ConvRole role = call.node->as<ir::ConvAttrs>().role;
    return role == ir::ConvRole::Input ? call.lhs : call.rhs;
  }

  /// Weights of library calls, and what loops read in every iteration.
  std::vector<std::uint8_t> wanted_slots() const {
    std::vector<std::uint8_t> wanted(plan_.slots.size(), 0);
    for (const Step& step : plan_.steps) {
      if (const LibraryStep* call = library_step(step)) wanted[at(weights_of(*call))] = 1;
      const auto* loop = std::get_if<LoopStep>(&step);
      if (!loop) continue;
      const auto consts = static_cast<std::size_t>(loop->node->as<ir::ScanAttrs>().consts);
      for (std::size_t i = 0; i < consts; ++i) wanted[at(loop->operands[i])] = 1;
    }
    return wanted;
  }

  void drop_unneeded() {
    std::vector<std::uint8_t> wanted = wanted_slots(), cached(plan_.slots.size(), 0);
    std::vector<std::uint8_t> read(plan_.slots.size(), 0);
    for (std::size_t s = effects_.size(); s-- > 0;) {
      const StepEffects& effects = effects_[s];
      const auto is_wanted = [&](int slot) { return wanted[at(slot)] != 0; };
      const bool stays = found_.is_cached_step[s] &&
                         std::any_of(effects.written.begin(), effects.written.end(), is_wanted);
      found_.is_cached_step[s] = stays;
      if (!stays) continue;
      for (const int slot : effects.read) wanted[at(slot)] = read[at(slot)] = 1;
      for (const int slot : effects.written) cached[at(slot)] = 1;
    }
    for (std::size_t i = 0; i < plan_.slots.size(); ++i) {
      if (read[i] && is_unchanged_argument(static_cast<int>(i))) {
        found_.arguments.push_back(static_cast<int>(i));
      }
    }
    found_.is_cached_slot = std::move(cached);
  }

  const Plan& plan_;
  const std::vector<BuiltKernel>& kernels_;
  const std::vector<bool>& unchanged_;
  std::vector<StepEffects> effects_;
  CachedSteps found_;
};

}  // namespace

std::vector<bool> unchanged_arguments(const LoweredModule& lowered) {
  const std::size_t inputs = lowered.module.graph.inputs.size();
  std::vector<bool> unchanged(inputs, false);
  unchanged.resize(inputs + lowered.module.state.size(), true);
  for (const std::size_t state : lowered.updated) unchanged[inputs + state] = false;
  return unchanged;
}

CachedSteps find_cached_steps(const Plan& plan, const std::vector<BuiltKernel>& kernels,
                              const std::vector<bool>& unchanged) {
  CachedSteps found;
  if (std::find(unchanged.begin(), unchanged.end(), true) != unchanged.end()) {
    found = CacheFinder(plan, kernels, unchanged).run();
  }
  if (!found.arguments.empty()) return found;
  found.is_cached_step.assign(plan.steps.size(), 0);
  found.is_cached_slot.assign(plan.slots.size(), 0);
  return found;
}

}  // namespace kiln::codegen
