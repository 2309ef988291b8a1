// Facts about a plan that do not depend on sizes, so that binding does not derive them again.
#pragma once

#include "backends/codegen/bind/cached_steps.h"
#include "backends/codegen/bind/slot_sizes.h"
#include "backends/codegen/plan/lifetimes.h"
#include "backends/codegen/plan/step_effects.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace kiln::codegen {

/// A temporary in the arena.
struct ArenaTensor {
  int step = 0;  // that writes it first
  SlotId slot;
  /// Operands of that step whose buffers it may take over, if they have as many bytes.
  std::vector<SlotId> reusable;
};

struct PlanFacts {
  /// `unchanged`: see find_cached_steps(). Without the facts of bodies.
  PlanFacts(const Plan& plan, const BuiltKernels& kernels, const std::vector<bool>& unchanged = {});

  SlotShapes shapes;
  std::vector<StepEffects> effects;  // of each step
  IdVector<SlotId, Lifetime> lifetimes;  // of each slot
  /// In the order of steps. Without the stacks of a carry that has two.
  std::vector<ArenaTensor> arena_tensors;
  CachedSteps cached;
  std::vector<bool> unchanged;  // of each argument
  IdVector<SlotId, int> rhs_uses;  // of each slot: the matmuls with this rhs
  std::size_t max_packings = 0;  // library steps with an operand that may keep its value
  /// The operands of kernels are numbered in the order of steps. The operands that are
  /// slot s: `kernel_uses` from first_use[s] to first_use[s + 1].
  std::vector<std::uint32_t> kernel_uses, first_use;
  std::vector<std::uint32_t> first_operand;  // of each step: its first number, if it is a kernel
};

struct KernelFacts {
  explicit KernelFacts(const Kernel& kernel);

  bool is_contiguous = false;  // neighbours along axis 0 are contiguous in some access
  bool adds_columns = false;   // see column_sums()
};

/// The facts of a program's plan, of all bodies and of all kernels. Immutable.
class ProgramFacts {
 public:
  /// `unchanged`: of each argument of the program. REQUIRES: `program` outlives the object.
  ProgramFacts(const Program& program, const std::vector<bool>& unchanged);
  /// REQUIRES: the plan of the program or a body in it.
  const PlanFacts& of(const Plan& plan) const { return facts_.at(&plan); }
  const KernelFacts& of_kernel(KernelId kernel) const { return kernels_[kernel]; }

 private:
  void add_bodies(const Plan& plan, const BuiltKernels& kernels);

  std::unordered_map<const Plan*, PlanFacts> facts_;
  IdVector<KernelId, KernelFacts> kernels_;
};

}  // namespace kiln::codegen
