// Measured times of the steps of a program's calls, and their table.
#pragma once

#include "backends/codegen/plan/plan.h"

#include <algorithm>
#include <unordered_map>

namespace kiln::codegen {

/// The least that a step has to do: bytes read and written, each element once, and floating-point
/// operations, of which a multiply-add is two.
struct StepCost {
  double bytes = 0, operations = 0;

  void add(const StepCost& other, double times = 1) {
    bytes += times * other.bytes;
    operations += times * other.operations;
  }
};

/// Times of one step, added up over the runs that were timed.
struct StepTime {
  std::int64_t calls = 0;
  double seconds = 0;
  double shortest = 0;  // seconds of the shortest call; 0: there was none
  StepCost cost = {};   // of all calls

  void add(double taken) { add(StepTime{1, taken, taken}); }
  void add(const StepTime& other) {
    if (other.calls == 0) return;
    shortest = calls == 0 ? other.shortest : std::min(shortest, other.shortest);
    calls += other.calls;
    seconds += other.seconds;
    cost.add(other.cost);
  }
};

/// The sum of a step's times over the calls of a program.
struct StepSum : StepTime {
  StepTime first;  // in the first call since measuring began; without calls: there was none
  double shortest_call = 0;  // seconds, since then

  /// Adds the time of one call.
  void add_call(const StepTime& one) {
    if (one.calls == 0) return;
    shortest_call = first.calls == 0 ? one.seconds : std::min(shortest_call, one.seconds);
    if (first.calls == 0) first = one;
    add(one);
  }
};

/// Times of all steps of a program.
struct StepTimes {
  StepSum whole;
  bool has_regions = false;  // the steps of a region have one common time
  /// For a plan or a body: its steps, then its region if there are regions.
  std::unordered_map<const Plan*, std::vector<StepSum>> plans;

  /// Forgets the first call, as measuring begins.
  void begin() {
    whole.first = {};
    for (auto& [plan, steps] : plans) {
      for (StepSum& step : steps) step.first = {};
    }
  }
};

/// A row for each step: calls, total microseconds, those of the mean and of the shortest call, and
/// the share of the program's time. `notes`: comment lines above the table.
std::string print_times(const Program& program, const StepTimes& times, const std::string& notes);

}  // namespace kiln::codegen
