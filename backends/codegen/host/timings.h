// Times of the steps of a plan. Measuring begins at the first request; runs write times to their
// own execution lists, and each call adds those to the sums.
#pragma once

#include "backends/codegen/host/execution_list.h"

#include <atomic>
#include <mutex>
#include <string>

namespace kiln::codegen {

class CallTimes {
 public:
  bool is_enabled() const { return is_enabled_.load(std::memory_order_relaxed); }
  void enable() { is_enabled_.store(true, std::memory_order_relaxed); }

  /// Adds the times in the list and in its bodies, and resets them. Thread-safe.
  void add(ExecutionList& list, double seconds);
  /// The table of print_times().
  std::string print(const Program& program) const;

 private:
  void add_steps(ExecutionList& list);

  std::atomic<bool> is_enabled_{false};
  mutable std::mutex mutex_;
  StepTimes times_{.whole = {}, .has_regions = true, .plans = {}};
};

}  // namespace kiln::codegen
