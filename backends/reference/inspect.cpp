// Prints tables of steps and times.
#include "backends/reference/inspect.h"

#include "backends/abi/kiln_backend_profile.h"
#include "core/ir/argument_text.h"
#include "core/ir/scope.h"
#include "core/module/source_paths.h"
#include "core/ops/op.h"
#include "core/types/text.h"

#include <algorithm>
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
  std::vector<std::size_t> results;
  for (std::size_t i = 0; i < node.types.size(); ++i) results.push_back(step.first_result + i);
  return text(slots(results), " = ", def(node).name, "(", slots(step.operands),
              ") : ", join_text(node.types, ", "), "  # ",
              source_text(program.module.origin_of(node), def(node).name));
}

/// "input x", "variable w" or, without a name, "argument 0".
std::string name_of_argument(const module::Module& module, std::size_t number) {
  const std::vector<ir::Value>& inputs = module.graph.inputs;
  const ir::Node& node =
      *(number < inputs.size() ? inputs[number] : module.state[number - inputs.size()].variable)
           .node;
  const std::string named = argument_text(node);
  return named.empty() ? text("argument ", number) : named;
}

/// Calls visit(step, depth); the steps of bodies follow the step that has the bodies.
template <class Visit>
void for_each_step(const Region& region, std::size_t depth, const Visit& visit) {
  for (const Step& step : region.steps) {
    visit(step, depth);
    for (const Region& body : step.bodies) for_each_step(body, depth + 1, visit);
  }
}

std::string print_steps(const Interpretation& program) {
  std::string out = "# run one after the other; composite ops are expanded\n";
  for (const auto& [index, slot] : program.region.parameters) {
    out += text("%", slot, " = ", name_of_argument(program.module, index), "\n");
  }
  for_each_step(program.region, 0, [&](const Step& step, std::size_t depth) {
    out += std::string(2 * depth, ' ') + line_of(program, step) + "\n";
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

void Inspection::StepSum::add_call(const StepTime& one) {
  if (one.calls == 0) return;
  add(one);
  if (extremes.has_calls) {
    extremes.shortest = std::min(extremes.shortest, one.seconds);
  } else {
    extremes = {true, one.seconds, one.bytes, 0, one.seconds};
  }
}

void Inspection::dump_program(const Interpretation& program, const CompileTimes& times,
                              const sdk::Host& host, std::string_view label) {
  if (host.dump_wanted("plan")) {
    hand_over(host, label, "plan", "",
              module::SourcePaths(program.module).shorten(print_steps(program)));
  }
  if (host.dump_wanted("trace")) traces_steps_.store(true, std::memory_order_relaxed);
  if (!host.dump_wanted("timings")) return;
  hand_over(host, label, "timings", "compile", print_compile_times(times));
  measure(program);
}

void Inspection::measure(const Interpretation& program) {
  const std::lock_guard lock(mutex_);
  for_each_step(program.region, 0,
                [&](const Step& step, std::size_t) { times_.try_emplace(&step); });
  if (requests_.fetch_add(1, std::memory_order_relaxed) != 0) return;
  whole_.extremes = {};
  for (auto& [step, time] : times_) time.extremes = {};
}

Inspection::StepSum Inspection::time_of(const Step& step) const {
  const auto found = times_.find(&step);
  return found == times_.end() ? StepSum{} : found->second;
}

void Inspection::dump_calls(const Interpretation& program, const sdk::Host& host,
                            std::string_view label) {
  if (!host.dump_wanted("timings")) return;
  const std::lock_guard lock(mutex_);
  std::string out = text("# ", whole_.calls, " calls since timings were requested\n",
                         "     calls  microseconds        mean   share\n");
  out += row(whole_, whole_.seconds) + "the whole call\n";
  for_each_step(program.region, 0, [&](const Step& step, std::size_t depth) {
    out += row(time_of(step), whole_.seconds) + std::string(2 * depth, ' ') +
           line_of(program, step) + "\n";
  });
  hand_over(host, label, "timings", "calls", module::SourcePaths(program.module).shorten(out));
}

void Inspection::add_step(const Interpretation& program, const Step& step, std::size_t depth,
                          const StepSum& time, sdk::ProfileText& out) {
  const ir::Node& node = *step.node;
  const ir::Origin& origin = program.module.origin_of(node);
  const std::string what = text(def(node).name, " : ", join_text(node.types, ", "));
  out.step({.depth = depth,
            .calls = time.calls,
            .seconds = time.seconds,
            .bytes = time.bytes,
            .operations = 0,
            .text = what,
            .extremes = time.extremes});
  const std::string scope = ir::scope_path(origin.scope);
  const bool is_named = *origin.function != '\0';
  out.from({.share = 1,
            .scope = scope,
            .function = is_named ? std::string_view(origin.function) : def(node).name,
            .file = origin.where.file,
            .line = origin.where.line});
}

void Inspection::dump_profile(const Interpretation& program, const sdk::Host& host,
                              std::string_view label) {
  if (host.dump_wanted(sdk::ProfileText::kBegin)) measure(program);
  if (host.dump_wanted(sdk::ProfileText::kStage)) {
    const std::lock_guard lock(mutex_);
    sdk::ProfileText out;
    out.call(whole_.calls, whole_.seconds, whole_.extremes);
    for_each_step(program.region, 0, [&](const Step& step, std::size_t depth) {
      add_step(program, step, depth, time_of(step), out);
    });
    hand_over(host, label, sdk::ProfileText::kStage, "", out.str());
  }
  if (host.dump_wanted(sdk::ProfileText::kEnd)) requests_.fetch_sub(1, std::memory_order_relaxed);
}

void Inspection::add(const StepTimes& times, double seconds) {
  const std::lock_guard lock(mutex_);
  for (const auto& [step, time] : times) times_[step].add_call(time);
  whole_.add_call({1, seconds, 0});
}

}  // namespace kiln::reference
