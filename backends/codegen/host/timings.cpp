// Adding up, and the table.
#include "backends/codegen/host/timings.h"

#include "backends/codegen/inspect/compile_times.h"
#include "core/types/text.h"

#include <iomanip>

namespace kiln::codegen {
namespace {

std::string row(const StepTime& time, const StepTime& whole) {
  TextStream out;
  out << std::setw(10) << time.calls;
  const double mean = time.calls == 0 ? 0 : time.seconds / static_cast<double>(time.calls);
  const double share = whole.seconds == 0 ? 0 : 100 * time.seconds / whole.seconds;
  return std::move(out).str() + in_column(time.seconds * 1e6, 14, 1) +
         in_column(mean * 1e6, 12, 3) + in_column(time.least * 1e6, 12, 3) +
         in_column(share, 8, 1) + "%  ";
}

std::size_t step_of(const Plan& plan, const Instruction& instruction) {
  return static_cast<std::size_t>(instruction.step - plan.steps.data());
}

}  // namespace

void CallTimes::take(Tape& tape, double seconds) {
  const std::lock_guard lock(mutex_);
  whole_.add(seconds);
  take_steps(tape);
}

void CallTimes::take_steps(Tape& tape) {
  const Plan& plan = *tape.plan->plan;
  std::vector<StepTime>& sums = steps_[&plan];
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
  std::string out = text("# ", whole_.calls, " calls since times were asked for\n");
  if (whole_.calls == 0) return out;
  out +=
      "# loops that run on several threads: the sum of these; steps side by side: one time for\n"
      "# all; what no step is for (arguments, measuring) is in the first line alone\n"
      "     calls  microseconds        mean    shortest   share\n";
  out += row(whole_, whole_) + "the whole call\n";
  print_plan(program, program.plan, "", out);
  return out;
}

void CallTimes::print_plan(const Program& program, const Plan& plan, const std::string& indent,
                           std::string& out) const {
  const auto found = steps_.find(&plan);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    const bool known = found != steps_.end() && s < found->second.size();
    const StepTime time = known ? found->second[s] : StepTime{};
    if (s == plan.region_begin && s < plan.region_end) {
      const StepTime region = known ? found->second.back() : StepTime{};
      out += row(region, whole_) + indent + print_region(plan) + "\n";
    }
    out += row(time, whole_) + indent + codegen::print(program, step) + "\n";
    if (const auto* loop = std::get_if<LoopStep>(&step)) {
      print_plan(program, *loop->body, indent + "  ", out);
    }
    if (const auto* branch = std::get_if<BranchStep>(&step)) {
      for (const auto& body : branch->branches) print_plan(program, *body, indent + "  ", out);
    }
  }
}

}  // namespace kiln::codegen
