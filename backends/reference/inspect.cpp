// Prints tables of steps and times.
#include "backends/reference/inspect.h"

#include "core/ops/op.h"
#include "core/types/text.h"

#include <iomanip>
#include <mutex>

namespace kiln::reference {
namespace {

void hand_over(const sdk::Host& host, std::string_view label, std::string_view stage,
               std::string_view name, const std::string& contents) {
  host.dump(label, stage, 0, name, "text/plain", std::as_bytes(std::span(contents)));
}

std::string in_column(double value, int width, int digits) {
  TextStream out;
  out << std::fixed << std::setprecision(digits) << std::setw(width) << value;
  return std::move(out).str();
}

std::string slots(const std::vector<std::size_t>& numbers) {
  std::string joined;
  for (const std::size_t slot : numbers) joined += text(joined.empty() ? "%" : ", %", slot);
  return joined;
}

std::string line_of(const Interpretation& program, const Step& step) {
  const ir::Node& node = *step.node;
  const ir::Origin origin = program.module.origin_of(node);
  std::vector<std::size_t> results;
  for (std::size_t i = 0; i < node.types.size(); ++i) results.push_back(step.first_result + i);
  std::string line = text(slots(results), " = ", def(node).name, "(", slots(step.operands),
                          ") : ", join_text(node.types, ", "), "  # ", origin.function);
  if (origin.where.known()) line += text(" at ", origin.where.file, ":", origin.where.line);
  return line;
}

/// Visits the steps; those of bodies follow the step that has the bodies.
template <class Visit>
void for_each_step(const Region& region, const std::string& indent, const Visit& visit) {
  for (const Step& step : region.steps) {
    visit(step, indent);
    for (const Region& body : step.bodies) for_each_step(body, indent + "  ", visit);
  }
}

std::string print_steps(const Interpretation& program) {
  std::string out = "# run one after the other; composite ops are expanded\n";
  for (const auto& [index, slot] : program.region.parameters) {
    out += text("%", slot, " = argument ", index, "\n");
  }
  for_each_step(program.region, "", [&](const Step& step, const std::string& indent) {
    out += indent + line_of(program, step) + "\n";
  });
  return out + text("results ", slots(program.region.results), "\n");
}

std::string print_compile_times(const CompileTimes& times) {
  std::string out = "# milliseconds of compiling\n";
  for (const auto& [part, seconds] : times) {
    out += in_column(seconds * 1e3, 12, 3) + "  " + part + "\n";
  }
  return out;
}

std::string row(const StepTime& time, double whole) {
  const double mean = time.calls == 0 ? 0 : time.seconds / static_cast<double>(time.calls);
  return in_column(static_cast<double>(time.calls), 10, 0) + in_column(time.seconds * 1e6, 14, 1) +
         in_column(mean * 1e6, 12, 3) +
         in_column(whole == 0 ? 0 : 100 * time.seconds / whole, 8, 1) + "%  ";
}

}  // namespace

void Inspection::dump_program(const Interpretation& program, const CompileTimes& times,
                              const sdk::Host& host, std::string_view label) {
  if (host.dump_wanted("plan")) hand_over(host, label, "plan", "", print_steps(program));
  if (!host.dump_wanted("timings")) return;
  hand_over(host, label, "timings", "compile", print_compile_times(times));
  const std::lock_guard lock(mutex_);
  for_each_step(program.region, "",
                [&](const Step& step, const std::string&) { times_.try_emplace(&step); });
  measures_times_.store(true, std::memory_order_relaxed);
}

void Inspection::dump_calls(const Interpretation& program, const sdk::Host& host,
                            std::string_view label) {
  if (!host.dump_wanted("timings")) return;
  const std::lock_guard lock(mutex_);
  std::string out = text("# ", whole_.calls, " calls since timings were requested\n",
                         "     calls  microseconds        mean   share\n");
  out += row(whole_, whole_.seconds) + "the whole call\n";
  for_each_step(program.region, "", [&](const Step& step, const std::string& indent) {
    const auto found = times_.find(&step);
    const StepTime time = found == times_.end() ? StepTime{} : found->second;
    out += row(time, whole_.seconds) + indent + line_of(program, step) + "\n";
  });
  hand_over(host, label, "timings", "calls", out);
}

void Inspection::add(const StepTimes& times, double seconds) {
  const std::lock_guard lock(mutex_);
  for (const auto& [step, time] : times) times_[step].add(time);
  whole_.add({1, seconds});
}

}  // namespace kiln::reference
