// Times of the parts of a compilation. A few readings of the clock cost so little that they are
// always taken.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
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

  struct Lap {
    std::string part;
    std::int64_t thread;  // as Linux numbers it
    Clock::time_point begin, end;
  };
  /// Calls visit(lap) for each lap, also of other threads, of which the first few thousand are
  /// kept.
  template <class Visit>
  void for_each_lap(const Visit& visit) const {
    for (const Lap& lap : laps_) visit(lap);
    for (const Lap& lap : laps_of_threads_) visit(lap);
  }

 private:
  void add_to_sum(const std::string& part, double seconds);

  Clock::time_point start_ = Clock::now();
  std::vector<Lap> laps_, laps_of_threads_;
  /// Of all laps of threads by part, in the order of the first lap.
  std::vector<std::pair<std::string, double>> sums_of_threads_;
  std::vector<std::pair<std::string, std::size_t>> counts_;
};

/// The value with `digits` decimals, right-aligned in `width` characters.
std::string in_column(double value, int width, int digits);

}  // namespace kiln::codegen
