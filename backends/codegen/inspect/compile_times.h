// Times of the parts of a compilation. A few readings of the clock cost so little that they are
// always taken.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln::codegen {

using Clock = std::chrono::steady_clock;

/// A stopwatch with laps. Not thread-safe.
class CompileTimes {
 public:
  /// Attributes the time since the last lap, or since construction, to `part`.
  void lap(std::string_view part);
  /// Adds the parts that other threads worked on meanwhile; they do not count towards the total.
  void add_parts(const CompileTimes& others);
  void count(std::string_view things, std::size_t number);
  std::string print() const;

 private:
  Clock::time_point start_ = Clock::now();
  std::vector<std::pair<std::string, double>> seconds_, of_threads_;
  std::vector<std::pair<std::string, std::size_t>> counts_;
};

/// The value with `digits` decimals, right-aligned in `width` characters.
std::string in_column(double value, int width, int digits);

}  // namespace kiln::codegen
