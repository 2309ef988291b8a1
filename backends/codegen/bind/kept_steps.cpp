// Greatest fixed point: start with all candidates and drop those that touch a slot which is not
// kept. Then dead code elimination.
#include "backends/codegen/bind/kept_steps.h"

#include "backends/codegen/plan/touched.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

class Finder {
 public:
  Finder(const Plan& plan, const std::vector<BuiltKernel>& kernels, const std::vector<bool>& kept)
      : plan_(plan), kernels_(kernels), kept_(kept) {
    for (const Step& step : plan.steps) touched_.push_back(touched(step, kernels));
  }

  KeptSteps run() {
    found_.is_kept_step.assign(plan_.steps.size(), 0);
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) found_.is_kept_step[s] = is_candidate(s);
    while (drop_one_round()) {
    }
    keep_needed();
    return std::move(found_);
  }

 private:
  bool is_kept_argument(int slot) const {
    const Slot& described = plan_.slots[at(slot)];
    return described.kind == Slot::Kind::Argument && at(described.number) < kept_.size() &&
           kept_[at(described.number)];
  }

  bool is_candidate(std::size_t s) const {
    const auto* step = std::get_if<KernelStep>(&plan_.steps[s]);
    if (!step || (s >= plan_.region_begin && s < plan_.region_end)) return false;
    const BuiltKernel& built = kernels_[at(step->kernel)];
    const Kernel& kernel = built.kernel;
    const auto is_random = [](const Expression& e) { return e.kind == ExpressionKind::Random; };
    const auto may_fault = [](const Access& access) { return access.dynamic >= 0; };
    return built.nonempty.empty() &&
           std::none_of(kernel.expressions.begin(), kernel.expressions.end(), is_random) &&
           std::none_of(kernel.accesses.begin(), kernel.accesses.end(), may_fault);
  }

  /// Temporaries that only candidates write.
  std::vector<std::uint8_t> slots_of_candidates() const {
    std::vector<std::uint8_t> kept(plan_.slots.size(), 0), spoiled = kept;
    for (std::size_t s = 0; s < touched_.size(); ++s) {
      for (const int slot : touched_[s].written) {
        const bool temporary = plan_.slots[at(slot)].kind == Slot::Kind::Temporary;
        (found_.is_kept_step[s] && temporary ? kept : spoiled)[at(slot)] = 1;
      }
    }
    for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = kept[i] && !spoiled[i];
    return kept;
  }

  bool drop_one_round() {
    const std::vector<std::uint8_t> kept = slots_of_candidates();
    const auto is_kept = [&](int slot) {
      return kept[at(slot)] || is_kept_argument(slot) ||
             plan_.slots[at(slot)].kind == Slot::Kind::Constant;
    };
    bool dropped = false;
    for (std::size_t s = 0; s < touched_.size(); ++s) {
      const Touched& now = touched_[s];
      const bool stays = std::all_of(now.read.begin(), now.read.end(), is_kept) &&
                         std::all_of(now.written.begin(), now.written.end(), is_kept);
      if (!found_.is_kept_step[s] || stays) continue;
      found_.is_kept_step[s] = 0;
      dropped = true;
    }
    return dropped;
  }

  /// The right operand of a matmul or the filter of a convolution.
  static int weights_of(const LibraryStep& call) {
    if (call.node->op != ir::Op::Conv) return call.rhs;
    const auto role = static_cast<ir::ConvRole>(call.node->as<ir::ConvAttrs>().role);
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

  void keep_needed() {
    std::vector<std::uint8_t> wanted = wanted_slots(), kept(plan_.slots.size(), 0);
    std::vector<std::uint8_t> read(plan_.slots.size(), 0);
    for (std::size_t s = touched_.size(); s-- > 0;) {
      const Touched& now = touched_[s];
      const auto is_wanted = [&](int slot) { return wanted[at(slot)] != 0; };
      const bool stays =
          found_.is_kept_step[s] && std::any_of(now.written.begin(), now.written.end(), is_wanted);
      found_.is_kept_step[s] = stays;
      if (!stays) continue;
      for (const int slot : now.read) wanted[at(slot)] = read[at(slot)] = 1;
      for (const int slot : now.written) kept[at(slot)] = 1;
    }
    for (std::size_t i = 0; i < plan_.slots.size(); ++i) {
      if (read[i] && is_kept_argument(static_cast<int>(i))) {
        found_.arguments.push_back(static_cast<int>(i));
      }
    }
    found_.is_kept_slot = std::move(kept);
  }

  const Plan& plan_;
  const std::vector<BuiltKernel>& kernels_;
  const std::vector<bool>& kept_;
  std::vector<Touched> touched_;
  KeptSteps found_;
};

}  // namespace

std::vector<bool> unchanged_arguments(const LoweredModule& lowered) {
  const std::size_t inputs = lowered.module.graph.inputs.size();
  std::vector<bool> unchanged(inputs, false);
  unchanged.resize(inputs + lowered.module.state.size(), true);
  for (const std::size_t state : lowered.updated) unchanged[inputs + state] = false;
  return unchanged;
}

KeptSteps find_kept_steps(const Plan& plan, const std::vector<BuiltKernel>& kernels,
                          const std::vector<bool>& kept) {
  KeptSteps found;
  if (std::find(kept.begin(), kept.end(), true) != kept.end()) {
    found = Finder(plan, kernels, kept).run();
  }
  if (!found.arguments.empty()) return found;
  found.is_kept_step.assign(plan.steps.size(), 0);
  found.is_kept_slot.assign(plan.slots.size(), 0);
  return found;
}

}  // namespace kiln::codegen
