// Facts about a plan that do not depend on sizes, so that binding does not derive them again.
#pragma once

#include "backends/codegen/bind/cached_steps.h"
#include "backends/codegen/plan/lifetimes.h"
#include "backends/codegen/plan/step_effects.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace kiln::codegen {

struct PlanFacts {
  /// `unchanged`: see find_cached_steps(). Without the facts of bodies.
  PlanFacts(const Plan& plan, const std::vector<BuiltKernel>& kernels,
            const std::vector<bool>& unchanged = {});

  std::vector<StepEffects> effects;  // of each step
  std::vector<Lifetime> lifetimes;   // of each slot
  CachedSteps cached;
  std::vector<bool> unchanged;  // of each argument
  /// The operands of kernels are numbered in the order of steps. Those that are slot s:
  /// `kernel_uses` from first_use[s] to first_use[s + 1].
  std::vector<std::uint32_t> kernel_uses, first_use;
};

/// The facts of a program's plan and of all bodies. Immutable.
class ProgramFacts {
 public:
  /// `unchanged`: of each argument of the program. REQUIRES: `program` outlives the object.
  ProgramFacts(const Program& program, const std::vector<bool>& unchanged);
  /// REQUIRES: the plan of the program or a body in it.
  const PlanFacts& of(const Plan& plan) const { return facts_.at(&plan); }

 private:
  void add_bodies(const Plan& plan, const std::vector<BuiltKernel>& kernels);

  std::unordered_map<const Plan*, PlanFacts> facts_;
};

}  // namespace kiln::codegen
