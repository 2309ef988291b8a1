// What each step of a plan takes, measured from when somebody asks for it. Runs write into their
// own tape; what lies there is added up after each call.
#pragma once

#include "backends/codegen/host/tape.h"

#include <atomic>
#include <mutex>
#include <string>

namespace kiln::codegen {

class CallTimes {
 public:
  bool wanted() const { return wanted_.load(std::memory_order_relaxed); }
  void want() { wanted_.store(true, std::memory_order_relaxed); }

  /// Takes what the run left in the tape, bodies too.
  void take(Tape& tape, double seconds);
  /// The table of print_times().
  std::string print(const Program& program) const;

 private:
  void take_steps(Tape& tape);

  std::atomic<bool> wanted_{false};
  mutable std::mutex mutex_;
  StepTimes times_{.whole = {}, .has_regions = true, .plans = {}};
};

}  // namespace kiln::codegen
