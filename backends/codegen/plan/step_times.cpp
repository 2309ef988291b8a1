// Prints a row for the calls, then one for each step, bodies indented.
#include "backends/codegen/plan/step_times.h"

#include "backends/codegen/inspect/compile_times.h"
#include "core/types/characters.h"
#include "core/types/text.h"

#include <iomanip>

namespace kiln::codegen {
namespace {

/// The characters of a step before its sources in a row, which begin with "  # ".
constexpr std::size_t kMaxStepCharacters = 80;

/// The line of a step without the end of a long list of operands: the sources stay in view.
std::string row_text(const std::string& step) {
  const std::size_t sources = std::min(step.find("  # "), step.size());
  const std::string_view before = std::string_view(step).substr(0, sources);
  if (count_characters(before) <= kMaxStepCharacters) return step;
  return text(first_characters(before, kMaxStepCharacters - 3), "...", step.substr(sources));
}

class TimesPrinter {
 public:
  TimesPrinter(const Program& program, const StepTimes& times) : program_(program), times_(times) {}

  std::string print() {
    print_row(times_.whole, "the whole call");
    print_plan(program_.plan, "");
    return std::move(out_);
  }

 private:
  void print_row(const StepTime& time, const std::string& words) {
    TextStream calls;
    calls << std::setw(10) << time.calls;
    const double mean = time.calls == 0 ? 0 : time.seconds / static_cast<double>(time.calls);
    const double whole = times_.whole.seconds;
    const double share = whole == 0 ? 0 : 100 * time.seconds / whole;
    out_ += std::move(calls).str() + in_column(time.seconds * 1e6, 14, 1) +
            in_column(mean * 1e6, 12, 3) + in_column(time.shortest * 1e6, 12, 3) +
            in_column(share, 8, 1) + "%  " + words + "\n";
  }

  void print_plan(const Plan& plan, const std::string& indent) {
    const auto found = times_.plans.find(&plan);
    const auto time_of = [&](std::size_t row) {
      const bool is_known = found != times_.plans.end() && row < found->second.size();
      return is_known ? found->second[row] : StepSum{};
    };
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      const Step& step = plan.steps[s];
      if (times_.has_regions && s == plan.region_begin && s < plan.region_end) {
        print_row(time_of(plan.steps.size()), indent + print_region(plan));
      }
      print_row(time_of(s), indent + row_text(codegen::print(program_, step)));
      if (const auto* loop = std::get_if<LoopStep>(&step)) print_plan(*loop->body, indent + "  ");
      if (const auto* branch = std::get_if<BranchStep>(&step)) {
        for (const auto& body : branch->branches) print_plan(*body, indent + "  ");
      }
    }
  }

  const Program& program_;
  const StepTimes& times_;
  std::string out_;
};

}  // namespace

std::string print_times(const Program& program, const StepTimes& times, const std::string& notes) {
  std::string out = text("# ", times.whole.calls, " calls since timings were requested\n");
  if (times.whole.calls == 0) {
    return out + "# Function::profile() and KILN_DUMP measure calls from the first one on\n";
  }
  out += notes + "     calls  microseconds        mean    shortest   share\n";
  return out + TimesPrinter(program, times).print();
}

}  // namespace kiln::codegen
