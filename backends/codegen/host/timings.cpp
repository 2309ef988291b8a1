// Adding up.
#include "backends/codegen/host/timings.h"

namespace kiln::codegen {
namespace {

std::size_t step_of(const Plan& plan, const Instruction& instruction) {
  return static_cast<std::size_t>(instruction.step - plan.steps.data());
}

}  // namespace

void CallTimes::take(Tape& tape, double seconds) {
  const std::lock_guard lock(mutex_);
  times_.whole.add(seconds);
  take_steps(tape);
}

void CallTimes::take_steps(Tape& tape) {
  const Plan& plan = *tape.plan->plan;
  std::vector<StepTime>& sums = times_.plans[&plan];
  sums.resize(plan.steps.size() + 1);
  for (std::size_t i = 0; i < tape.times.size(); ++i) {
    const bool is_step = i < tape.instructions.size();
    StepTime& sum = is_step ? sums[step_of(plan, tape.instructions[i])] : sums.back();
    sum.add(tape.times[i]);
    tape.times[i] = {};
  }
  for (Instruction& instruction : tape.instructions) {
    for (Tape& body : instruction.bodies) take_steps(body);
  }
}

std::string CallTimes::print(const Program& program) const {
  const std::lock_guard lock(mutex_);
  return print_times(
      program, times_,
      "# loops that run on several threads: the sum of these; steps side by side: one time for\n"
      "# all; what no step is for (arguments, measuring) is in the first line alone\n");
}

}  // namespace kiln::codegen
