// Laps of a steady clock, printed in milliseconds.
#include "backends/codegen/inspect/compile_times.h"

#include "core/types/text.h"

#include <algorithm>
#include <iomanip>

namespace kiln::codegen {

void CompileTimes::lap(std::string_view part) {
  const Clock::time_point now = Clock::now();
  seconds_.emplace_back(part, std::chrono::duration<double>(now - start_).count());
  start_ = now;
}

void CompileTimes::add_parts(const CompileTimes& others) {
  const auto add = [this](const std::pair<std::string, double>& part) {
    const auto known = std::find_if(of_threads_.begin(), of_threads_.end(),
                                    [&](const auto& one) { return one.first == part.first; });
    if (known == of_threads_.end()) {
      of_threads_.push_back(part);
    } else {
      known->second += part.second;
    }
  };
  for (const auto& part : others.of_threads_) add(part);
  for (const auto& part : others.seconds_) add(part);
}

void CompileTimes::count(std::string_view things, std::size_t number) {
  counts_.emplace_back(things, number);
}

std::string CompileTimes::print() const {
  std::string out = "# milliseconds of compiling\n";
  double whole = 0;
  for (const auto& [part, seconds] : seconds_) {
    out += in_column(seconds * 1e3, 12, 3) + "  " + part + "\n";
    whole += seconds;
  }
  out += in_column(whole * 1e3, 12, 3) + "  in all\n";
  if (!of_threads_.empty()) out += "# of which by compile threads, added up\n";
  for (const auto& [part, seconds] : of_threads_) {
    out += in_column(seconds * 1e3, 12, 3) + "  " + part + "\n";
  }
  for (const auto& [things, number] : counts_) out += text("# ", number, " ", things, "\n");
  return out;
}

std::string in_column(double value, int width, int digits) {
  TextStream out;
  out << std::fixed << std::setprecision(digits) << std::setw(width) << value;
  return std::move(out).str();
}

}  // namespace kiln::codegen
