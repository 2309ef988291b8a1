// Dumps of the interpreter: its steps and their times. Calls are measured from the first request of
// a dump of timings on, and while a profile is measured; each run sums its own times and adds them
// when it ends. Thread-safe.
#pragma once

#include "backends/abi/kiln_backend_profile.h"
#include "backends/reference/interpretation.h"
#include "core/types/fork.h"

#include <atomic>
#include <chrono>
#include <string>
#include <unordered_map>
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

  /// Begins and ends measuring, and passes on the profile, as the host requests.
  void dump_profile(const Interpretation& program, const sdk::Host& host, std::string_view label);

  bool measures_times() const { return requests_.load(std::memory_order_relaxed) > 0; }
  /// Whether the steps of calls were requested for a trace.
  bool traces_steps() const { return traces_steps_.load(std::memory_order_relaxed); }
  void add(const StepTimes& times, double seconds);

 private:
  /// The sum of the times of calls.
  struct StepSum : StepTime {
    sdk::ProfileExtremes extremes;
    void add_call(const StepTime& one);
  };

  void measure(const Interpretation& program);
  StepSum time_of(const Step& step) const;
  static void add_step(const Interpretation& program, const Step& step, std::size_t depth,
                       const StepSum& time, sdk::ProfileText& out);

  std::atomic<int> requests_{0};
  std::atomic<bool> traces_steps_{false};
  ForkMutex mutex_;
  /// Has all steps once times are measured: no call inserts any.
  std::unordered_map<const Step*, StepSum> times_;
  StepSum whole_;
};

}  // namespace kiln::reference
