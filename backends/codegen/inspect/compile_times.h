// What the parts of compiling take: a few readings of the clock, so that they are always measured.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln::codegen {

using Clock = std::chrono::steady_clock;

/// One part after the other.
class CompileTimes {
 public:
  /// What happened since the last lap, or since this was made, was `part`.
  void lap(std::string_view part);
  /// Adds the parts of work that other threads have done meanwhile: they are no part of the whole.
  void add_parts(const CompileTimes& others);
  void count(std::string_view things, std::size_t number);
  std::string print() const;

 private:
  Clock::time_point start_ = Clock::now();
  std::vector<std::pair<std::string, double>> seconds_, of_threads_;
  std::vector<std::pair<std::string, std::size_t>> counts_;
};

/// With so many digits behind the point, in a column of that width.
std::string in_column(double value, int width, int digits);

}  // namespace kiln::codegen
