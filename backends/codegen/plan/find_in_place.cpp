// Compares the last reader of the old value with the writer of the new one.
#include "backends/codegen/plan/find_in_place.h"

#include "backends/codegen/plan/touched.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Whether `to` is the update of `from`, which no update of the step reads otherwise.
bool writes_in_place(const RowUpdateStep& step, int from, int to) {
  const auto fits = [&](const RowUpdate& one) {
    const bool reads = one.rate == from || one.indices == from || one.updates == from;
    return !reads && (one.result == to) == (one.x == from);
  };
  return std::all_of(step.updates.begin(), step.updates.end(), fits);
}

/// Whether the step that writes the slot `to` may do so over `from`.
bool writes_in_place(const Step& step, const std::vector<BuiltKernel>& kernels, int from, int to) {
  if (const auto* rows = std::get_if<RowUpdateStep>(&step)) return writes_in_place(*rows, from, to);
  const auto* kernel = std::get_if<KernelStep>(&step);
  return kernel && writes_in_place(kernels[at(kernel->kernel)].kernel, *kernel, from, to);
}

/// Readers and writers of each slot, and the last step that can fail.
class Order {
 public:
  explicit Order(const Program& program) : program_(program), slots_(program.plan.slots.size()) {
    const std::vector<Step>& steps = program.plan.steps;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const Touched now = touched(steps[s], program.kernels);
      for (const int slot : now.read) slots_[at(slot)].read_at(static_cast<int>(s));
      for (const int slot : now.written) {
        slots_[at(slot)].writer = static_cast<int>(s);
        ++slots_[at(slot)].writes;
      }
      if (can_fail(steps[s], program.kernels)) failing_ = static_cast<int>(s);
    }
  }

  bool may_overwrite(int from, int to) const {
    const Slot &old = slots_[at(from)], &made = slots_[at(to)];
    if (made.writes != 1) return false;
    const Step& step = program_.plan.steps[at(made.writer)];
    const bool fails_before_writing = std::holds_alternative<RowUpdateStep>(step);
    if (fails_before_writing ? failing_ > made.writer : failing_ >= made.writer) return false;
    if (!writes_in_place(step, program_.kernels, from, to)) return false;
    // Steps of the region run side by side.
    const int first = std::min(made.writer, static_cast<int>(program_.plan.region_begin));
    const int other = old.last_reader == made.writer ? old.reader_before : old.last_reader;
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
  std::vector<Slot> slots_;
  int failing_ = -1;
};

}  // namespace

std::vector<std::uint8_t> find_in_place(const Program& program,
                                        const std::vector<ResultOverArgument>& wanted) {
  const Order order(program);
  std::vector<std::uint8_t> answers;
  for (const ResultOverArgument& one : wanted) {
    const int from = program.plan.arguments[at(one.argument)];
    const int to = program.plan.results[at(one.result)];
    answers.push_back(from >= 0 && order.may_overwrite(from, to) ? 1 : 0);
  }
  return answers;
}

bool writes_in_place(const Kernel& kernel, const KernelStep& step, int from, int to) {
  if (kernel.stages.size() != 1 || kernel.stages[0].kind != StageKind::Map) return false;
  const Access* shape = nullptr;
  std::size_t width = 0;
  for (const Access& access : kernel.accesses) {
    const int slot = step.slots[at(access.operand)];
    if (slot != from && slot != to) continue;
    const std::size_t own = dtype_bytes(kernel.operands[at(access.operand)].dtype);
    if (access.dynamic >= 0 || (shape && own != width)) return false;
    if (shape && (shape->offset != access.offset || shape->strides != access.strides)) return false;
    shape = &access;
    width = own;
  }
  return shape != nullptr;
}

}  // namespace kiln::codegen
