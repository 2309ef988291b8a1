// What each step of a plan takes, measured from when somebody asks for it. Runs write into their
// own tape; what lies there is added up after each call.
#pragma once

#include "backends/codegen/host/tape.h"

#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace kiln::codegen {

class CallTimes {
 public:
  bool wanted() const { return wanted_.load(std::memory_order_relaxed); }
  void want() { wanted_.store(true, std::memory_order_relaxed); }

  /// Takes what the run left in the tape, bodies too.
  void take(Tape& tape, double seconds);
  /// A line for each step: calls, microseconds, those of the mean and of the shortest call, share.
  std::string print(const Program& program) const;

 private:
  void take_steps(Tape& tape);
  void print_plan(const Program& program, const Plan& plan, const std::string& indent,
                  std::string& out) const;

  std::atomic<bool> wanted_{false};
  mutable std::mutex mutex_;
  StepTime whole_;
  /// Of each plan: its steps, then its region.
  std::unordered_map<const Plan*, std::vector<StepTime>> steps_;
};

}  // namespace kiln::codegen
