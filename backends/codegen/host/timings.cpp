// Sums times by step.
#include "backends/codegen/host/timings.h"

namespace kiln::codegen {
namespace {

std::size_t step_of(const Plan& plan, const Instruction& instruction) {
  return static_cast<std::size_t>(instruction.step - plan.steps.data());
}

}  // namespace

void CallTimes::add(ExecutionList& list, double seconds) {
  const std::lock_guard lock(mutex_);
  times_.whole.add(seconds);
  add_steps(list);
}

void CallTimes::add_steps(ExecutionList& list) {
  const Plan& plan = *list.plan->plan;
  std::vector<StepTime>& sums = times_.plans[&plan];
  sums.resize(plan.steps.size() + 1);
  for (std::size_t i = 0; i < list.times.size(); ++i) {
    const bool is_step = i < list.instructions.size();
    StepTime& sum = is_step ? sums[step_of(plan, list.instructions[i])] : sums.back();
    sum.add(list.times[i]);
    list.times[i] = {};
  }
  for (Instruction& instruction : list.instructions) {
    for (ExecutionList& body : instruction.bodies) add_steps(body);
  }
}

std::string CallTimes::print(const Program& program) const {
  const std::lock_guard lock(mutex_);
  return print_times(
      program, times_,
      "# loops on several threads: the sum over the threads; parallel steps: one time for all;\n"
      "# time outside of all steps (arguments, measuring) is in the first row only\n");
}

}  // namespace kiln::codegen
