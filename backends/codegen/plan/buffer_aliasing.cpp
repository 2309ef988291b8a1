// Compares the last reader of the old value with the writer of the new one.
#include "backends/codegen/plan/buffer_aliasing.h"

#include "backends/codegen/plan/step_effects.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

/// Whether `to` is the updated `from`, and no update of the step reads `from` as another operand.
bool can_share_buffer(const RowUpdateStep& step, SlotId from, SlotId to) {
  const auto fits = [&](const RowUpdate& one) {
    const bool reads = one.rate == from || one.indices == from || one.updates == from;
    return !reads && (one.result == to) == (one.x == from);
  };
  return std::all_of(step.updates.begin(), step.updates.end(), fits);
}

/// Whether the step that writes the slot `to` may write it into the buffer of `from`.
bool can_share_buffer(const Step& step, const BuiltKernels& kernels, SlotId from, SlotId to) {
  if (const auto* rows = std::get_if<RowUpdateStep>(&step))
    return can_share_buffer(*rows, from, to);
  const auto* kernel = std::get_if<KernelStep>(&step);
  return kernel && can_share_buffer(kernels[kernel->kernel].kernel, *kernel, from, to);
}

/// The last two readers and the writer of each slot, and the last step that can fail.
class SlotUses {
 public:
  explicit SlotUses(const Program& program) : program_(program), slots_(program.plan.slots.size()) {
    const std::vector<Step>& steps = program.plan.steps;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const StepEffects now = effects_of(steps[s], program.kernels);
      for (const SlotId slot : now.read) slots_[slot].read_at(static_cast<int>(s));
      for (const SlotId slot : now.written) {
        slots_[slot].writer = static_cast<int>(s);
        ++slots_[slot].writes;
      }
      if (can_fail(steps[s], program.kernels)) failing_ = static_cast<int>(s);
    }
  }

  bool may_overwrite(SlotId from, SlotId to) const {
    const Slot &old_value = slots_[from], &new_value = slots_[to];
    if (new_value.writes != 1) return false;
    const int writer = new_value.writer;
    const Step& step = program_.plan.steps[at(writer)];
    const bool fails_before_writing = std::holds_alternative<RowUpdateStep>(step);
    if (fails_before_writing ? failing_ > writer : failing_ >= writer) return false;
    if (!can_share_buffer(step, program_.kernels, from, to)) return false;
    // Steps of the region run in parallel, so every other reader must precede the region.
    const int first = std::min(writer, static_cast<int>(program_.plan.region_begin));
    const int other =
        old_value.last_reader == writer ? old_value.reader_before : old_value.last_reader;
    return other < first;
  }

 private:
  struct Slot {
    int writes = 0, writer = -1;
    int last_reader = -1, reader_before = -1;  // two different steps

    void read_at(int step) {
      if (step == last_reader) return;
      reader_before = last_reader;
      last_reader = step;
    }
  };

  const Program& program_;
  IdVector<SlotId, Slot> slots_;
  int failing_ = -1;
};

}  // namespace

std::vector<std::uint8_t> find_buffer_aliases(const Program& program,
                                              const std::vector<InputOutputAlias>& wanted) {
  const SlotUses uses(program);
  std::vector<std::uint8_t> may_alias;
  for (const InputOutputAlias& one : wanted) {
    const SlotId from = program.plan.arguments[at(one.argument)];
    const SlotId to = program.plan.results[at(one.result)];
    may_alias.push_back(from && uses.may_overwrite(from, to) ? 1 : 0);
  }
  return may_alias;
}

bool can_share_buffer(const Kernel& kernel, const KernelStep& step, SlotId from, SlotId to) {
  if (kernel.stages.size() != 1 || kernel.stages.front().kind != StageKind::Map) return false;
  const Access* shape = nullptr;
  std::size_t width = 0;
  for (const Access& access : kernel.accesses) {
    const SlotId slot = step.slots[access.operand];
    if (slot != from && slot != to) continue;
    const std::size_t own = dtype_bytes(kernel.operands[access.operand].dtype);
    if (access.dynamic || (shape && own != width)) return false;
    if (shape && (shape->offset != access.offset || shape->strides != access.strides)) return false;
    shape = &access;
    width = own;
  }
  return shape != nullptr;
}

}  // namespace kiln::codegen
