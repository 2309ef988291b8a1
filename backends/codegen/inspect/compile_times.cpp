// Laps of a steady clock, printed in milliseconds.
#include "backends/codegen/inspect/compile_times.h"

#include "backends/codegen/inspect/trace_rows.h"
#include "core/types/text.h"

#include <algorithm>
#include <iomanip>

namespace kiln::codegen {

void CompileTimes::lap(std::string_view part) {
  const Clock::time_point now = Clock::now();
  laps_.push_back({std::string(part), thread_number(), start_, now});
  start_ = now;
}

void CompileTimes::add_parts(const CompileTimes& others) {
  for (const std::vector<Lap>* laps : {&others.laps_of_threads_, &others.laps_}) {
    laps_of_threads_.insert(laps_of_threads_.end(), laps->begin(), laps->end());
  }
}

void CompileTimes::count(std::string_view things, std::size_t number) {
  counts_.emplace_back(things, number);
}

std::string CompileTimes::print() const {
  std::string out = "# milliseconds of compiling\n";
  const auto print = [&](double seconds, std::string_view part) {
    out += in_column(seconds * 1e3, 12, 3) + "  " + std::string(part) + "\n";
  };
  double whole = 0;
  for (const Lap& lap : laps_) {
    const double seconds = std::chrono::duration<double>(lap.end - lap.begin).count();
    print(seconds, lap.part);
    whole += seconds;
  }
  print(whole, "in all");
  if (!laps_of_threads_.empty()) out += "# of which by compile threads, added up\n";
  std::vector<std::pair<std::string_view, double>> sums;  // by part, in the order of the first lap
  for (const Lap& lap : laps_of_threads_) {
    auto sum = std::find_if(sums.begin(), sums.end(),
                            [&](const auto& one) { return one.first == lap.part; });
    if (sum == sums.end()) sum = sums.insert(sums.end(), {lap.part, 0});
    sum->second += std::chrono::duration<double>(lap.end - lap.begin).count();
  }
  for (const auto& [part, seconds] : sums) print(seconds, part);
  for (const auto& [things, number] : counts_) out += text("# ", number, " ", things, "\n");
  return out;
}

std::string CompileTimes::trace() const {
  std::string rows;
  for (const std::vector<Lap>* laps : {&laps_, &laps_of_threads_}) {
    for (const Lap& lap : *laps) {
      append_row(rows, {"compile", lap.part, lap.thread, lap.begin, lap.end}, "");
    }
  }
  return rows;
}

std::string in_column(double value, int width, int digits) {
  TextStream out;
  out << std::fixed << std::setprecision(digits) << std::setw(width) << value;
  return std::move(out).str();
}

}  // namespace kiln::codegen
