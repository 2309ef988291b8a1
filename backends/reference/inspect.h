// Looking inside the interpreter: its steps as text, and what they took. Times are kept from when
// somebody asks for them; a run counts for itself and adds its sums at its end.
#pragma once

#include "backends/reference/program.h"

#include <atomic>
#include <chrono>
#include <mutex>
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
  /// Hands over what the host wants: the steps, and the times of compiling.
  void hand_over_program(const Program& program, const CompileTimes& times,
                         const sdk::Host& host, std::string_view label);
  /// The times of calls, and the wish to have them from now on.
  void hand_over_calls(const Program& program, const sdk::Host& host, std::string_view label);

  bool wants_times() const { return wanted_.load(std::memory_order_relaxed); }
  void add(const StepTimes& times, double seconds);

 private:
  std::atomic<bool> wanted_{false};
  std::mutex mutex_;
  StepTimes times_;
  StepTime whole_;
};

}  // namespace kiln::reference
