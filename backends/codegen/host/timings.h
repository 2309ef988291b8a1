// Times of the steps of a plan. Calls are measured from the first request of a dump of timings on,
// and while a profile is measured: runs write times to their own execution lists, and each call
// adds those to the sums.
#pragma once

#include "backends/codegen/host/execution_list.h"

#include <atomic>
#include <mutex>
#include <string>

namespace kiln::codegen {

class CallTimes {
 public:
  /// `program` outlives the object.
  explicit CallTimes(const Program& program) : program_(program) {}

  bool is_enabled() const { return requests_.load(std::memory_order_relaxed) > 0; }
  /// Measures until as many calls of disable().
  void enable();
  void disable() { requests_.fetch_sub(1, std::memory_order_relaxed); }

  /// Adds the times in the list and in its bodies, and resets them. Thread-safe.
  void add(ExecutionList& list, double seconds);
  /// The table of print_times().
  std::string print() const;
  /// A copy of the sums.
  StepTimes sums() const;

 private:
  void add_steps(ExecutionList& list);

  const Program& program_;
  std::atomic<int> requests_{0};
  mutable std::mutex mutex_;
  StepTimes times_{.whole = {}, .has_regions = true, .plans = {}};
};

}  // namespace kiln::codegen
