// Dumps of the interpreter: its steps and their times. Measuring begins at the first request; each
// run sums its own times and adds them when it ends. Thread-safe.
#pragma once

#include "backends/reference/interpretation.h"
#include "core/types/fork.h"

#include <atomic>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace kiln::reference {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Inspection {
 public:
  /// Dumps the steps and the times of compilation, as far as the host requests them.
  void dump_program(const Interpretation& program, const CompileTimes& times, const sdk::Host& host,
                    std::string_view label);
  /// Dumps the times of calls, if the host requests them.
  void dump_calls(const Interpretation& program, const sdk::Host& host, std::string_view label);

  bool measures_times() const { return measures_times_.load(std::memory_order_relaxed); }
  void add(const StepTimes& times, double seconds);

 private:
  std::atomic<bool> measures_times_{false};
  ForkMutex mutex_;
  StepTimes times_;  // has all steps once times are measured: no call inserts any
  StepTime whole_;
};

}  // namespace kiln::reference
