// Times of the steps of calls, and their table.
#pragma once

#include "backends/codegen/plan/plan.h"

#include <algorithm>
#include <unordered_map>

namespace kiln::codegen {

/// The time of a step in the runs that were timed.
struct StepTime {
  std::int64_t calls = 0;
  double seconds = 0;
  double least = 0;  // seconds of the shortest call; 0: there was none

  void add(double taken) { add(StepTime{1, taken, taken}); }
  void add(const StepTime& other) {
    if (other.calls == 0) return;
    least = calls == 0 ? other.least : std::min(least, other.least);
    calls += other.calls;
    seconds += other.seconds;
  }
};

/// Sums over calls of one program.
struct StepTimes {
  StepTime whole;
  bool has_regions = false;  // the steps of a region have one time for all
  /// Of a plan or a body: its steps, then its region where there are regions.
  std::unordered_map<const Plan*, std::vector<StepTime>> plans;
};

/// A line for each step: calls, microseconds of all calls, of the mean and of the shortest one, and
/// the share of the whole calls' time. `notes`: comment lines above the table.
std::string print_times(const Program& program, const StepTimes& times, const std::string& notes);

}  // namespace kiln::codegen
