// Laps of a steady clock, printed in milliseconds. Sums are exact, however many laps are kept.
#include "backends/codegen/inspect/compile_times.h"

#include "core/types/text.h"

#include <unistd.h>

#include <algorithm>
#include <iomanip>

namespace kiln::codegen {
namespace {

/// Of compile threads: some 300 KiB. A program of thousands of kernels has more.
constexpr std::size_t kMaxLaps = 4096;

double seconds_of(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

void CompileTimes::lap(std::string_view part) {
  const Clock::time_point now = Clock::now();
  laps_.push_back({std::string(part), ::gettid(), start_, now});
  start_ = now;
}

void CompileTimes::add_parts(const CompileTimes& others) {
  for (const Lap& lap : others.laps_) add_to_sum(lap.part, seconds_of(lap.begin, lap.end));
  for (const auto& [part, seconds] : others.sums_of_threads_) add_to_sum(part, seconds);
  for (const std::vector<Lap>* laps : {&others.laps_of_threads_, &others.laps_}) {
    const std::size_t count = std::min(laps->size(), kMaxLaps - laps_of_threads_.size());
    laps_of_threads_.insert(laps_of_threads_.end(), laps->begin(),
                            laps->begin() + static_cast<std::ptrdiff_t>(count));
  }
}

void CompileTimes::add_to_sum(const std::string& part, double seconds) {
  auto sum = std::find_if(sums_of_threads_.begin(), sums_of_threads_.end(),
                          [&](const auto& one) { return one.first == part; });
  if (sum == sums_of_threads_.end()) sum = sums_of_threads_.insert(sum, {part, 0});
  sum->second += seconds;
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
    const double seconds = seconds_of(lap.begin, lap.end);
    print(seconds, lap.part);
    whole += seconds;
  }
  print(whole, "in all");
  if (!sums_of_threads_.empty()) out += "# of which by compile threads, added up\n";
  for (const auto& [part, seconds] : sums_of_threads_) print(seconds, part);
  for (const auto& [things, number] : counts_) out += text("# ", number, " ", things, "\n");
  return out;
}

std::string in_column(double value, int width, int digits) {
  TextStream out;
  out << std::fixed << std::setprecision(digits) << std::setw(width) << value;
  return std::move(out).str();
}

}  // namespace kiln::codegen
