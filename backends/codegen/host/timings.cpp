// Sums times by step.
#include "backends/codegen/host/timings.h"

#include "backends/codegen/host/bind/bound_cost.h"

namespace kiln::codegen {
namespace {

std::size_t step_of(const Plan& plan, const Instruction& instruction) {
  return static_cast<std::size_t>(instruction.step - plan.steps.data());
}

/// The costs of the list's instructions, then of its region as a whole.
std::vector<StepCost> costs_of(const ExecutionList& list, const Program& program) {
  std::vector<StepCost> costs;
  for (const Instruction& one : list.instructions) {
    costs.push_back(cost_of(*one.step, *one.bound, list.plan->sizes, program));
  }
  StepCost region;
  for (std::size_t i = list.region_begin; i < list.region_end; ++i) region.add(costs[i]);
  costs.push_back(region);
  return costs;
}

}  // namespace

void CallTimes::enable() {
  const std::lock_guard lock(mutex_);
  if (requests_.fetch_add(1, std::memory_order_relaxed) == 0) times_.begin();
}

void CallTimes::add(ExecutionList& list, double seconds) {
  const std::lock_guard lock(mutex_);
  times_.whole.add_call({1, seconds, seconds});
  add_steps(list);
}

void CallTimes::add_steps(ExecutionList& list) {
  const Plan& plan = *list.plan->plan;
  std::vector<StepSum>& sums = times_.plans[&plan];
  sums.resize(plan.steps.size() + 1);
  if (list.costs.empty()) list.costs = costs_of(list, program_);
  for (std::size_t i = 0; i < list.times.size(); ++i) {
    const bool is_step = i < list.instructions.size();
    StepSum& sum = is_step ? sums[step_of(plan, list.instructions[i])] : sums.back();
    list.times[i].cost.add(list.costs[i], static_cast<double>(list.times[i].calls));
    sum.add_call(list.times[i]);
    list.times[i] = {};
  }
  for (Instruction& instruction : list.instructions) {
    for (ExecutionList& body : instruction.bodies) add_steps(body);
  }
}

std::string CallTimes::print() const {
  const std::lock_guard lock(mutex_);
  return print_times(
      program_, times_,
      "# loops on several threads: the sum over the threads; parallel steps: one time for all;\n"
      "# time outside of all steps (arguments, measuring) is in the first row only\n");
}

StepTimes CallTimes::sums() const {
  const std::lock_guard lock(mutex_);
  return times_;
}

}  // namespace kiln::codegen
