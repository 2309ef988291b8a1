// One case for each kind of step.
#include "backends/codegen/plan/step_effects.h"

#include <algorithm>

namespace kiln::codegen {
StepEffects effects_of(const Step& step, const BuiltKernels& kernels) {
  if (const auto* kernel = std::get_if<KernelStep>(&step)) {
    StepEffects slots;
    const auto& operands = kernels[kernel->kernel].kernel.operands;
    for (const OperandId i : operands.ids()) {
      if (operands[i].read) slots.read.push_back(kernel->slots[i]);
      if (operands[i].written) slots.written.push_back(kernel->slots[i]);
    }
    return slots;
  }
  if (const LibraryStep* call = library_step(step)) {
    StepEffects slots{{call->lhs, call->rhs}, {call->result}};
    if (call->bias) slots.read.push_back(call->bias);
    return slots;
  }
  if (const auto* copy = std::get_if<CopyStep>(&step)) return {{copy->from}, {copy->to}};
  if (const auto* loop = std::get_if<LoopStep>(&step)) return {loop->operands, loop->results};
  if (const auto* branch = std::get_if<BranchStep>(&step)) {
    return {branch->operands, branch->results};
  }
  if (const auto* rows = std::get_if<RowUpdateStep>(&step)) {
    StepEffects slots;
    for (const RowUpdate& one : rows->updates) {
      slots.read.insert(slots.read.end(), {one.x, one.rate, one.indices, one.updates});
      slots.written.push_back(one.result);
    }
    return slots;
  }
  if (const auto* attention = std::get_if<AttentionStep>(&step)) {
    StepEffects slots{attention->operands, {}};
    for (const SlotId slot : attention->results) {
      if (slot) slots.written.push_back(slot);
    }
    return slots;
  }
  const auto& call = std::get<HostCallStep>(step);
  return {call.operands, call.results};
}

bool can_fail(const KernelStep& step, const BuiltKernels& kernels) {
  const BuiltKernel& built = kernels[step.kernel];
  const auto& accesses = built.kernel.accesses;
  return !built.nonempty.empty() ||
         std::any_of(accesses.begin(), accesses.end(),
                     [](const Access& access) { return access.dynamic; });
}

bool can_fail(const Step& step, const BuiltKernels& kernels) {
  if (const auto* kernel = std::get_if<KernelStep>(&step)) return can_fail(*kernel, kernels);
  return !std::holds_alternative<CopyStep>(step);
}

}  // namespace kiln::codegen
