// Records when the steps of calls ran, for the dump stage `trace`.
#pragma once

#include "backends/codegen/dumps.h"

#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace kiln::codegen {

/// A step ran, or one of the copies before and after all steps.
struct StepEvent {
  /// Values of `row` for copies.
  static constexpr std::size_t kCopyIn = 0, kCopyOut = 1;

  const Plan* plan = nullptr;  // of the step; null: a copy
  std::size_t row = 0;  // of Plan::steps; their number stands for the parallel region
  std::int64_t thread = 0;  // that ran it (sdk::thread_number); 0: a device did
  Clock::time_point begin, end;
};

/// The events of a program's calls. Thread-safe. REQUIRES: program and dumps outlive the object.
class StepTrace {
 public:
  StepTrace(const Program& program, const Dumps& dumps) : program_(program), dumps_(dumps) {}

  /// Whether a call is traced: a trace was requested, and the host still writes one.
  bool is_wanted() const {
    return is_enabled_.load(std::memory_order_relaxed) && dumps_.wanted("trace");
  }
  /// Traces calls from now on, whenever the host writes a trace, if it does so now.
  void enable_if_wanted() {
    if (dumps_.wanted("trace")) is_enabled_.store(true, std::memory_order_relaxed);
  }

  /// Records an event of a thread. Without memory, events are lost.
  void add(const StepEvent& event) noexcept;
  /// Hands the recorded events to the host.
  void hand_over() noexcept;
  /// Hands these events to the host and clears them. `track`: of events without a thread.
  void hand_over(std::vector<StepEvent>& events, std::string_view track) noexcept;

 private:
  struct Label {
    std::string category, name, arguments;
  };

  void hand_over_locked(std::vector<StepEvent>& events, std::string_view track) noexcept;
  const Label& label_of(const StepEvent& event);

  const Program& program_;
  const Dumps& dumps_;
  std::atomic<bool> is_enabled_{false};
  std::mutex mutex_;  // of the members below
  std::vector<StepEvent> events_;
  std::unordered_map<const Plan*, std::vector<Label>> labels_;  // by row
};

/// Hands the events of a call over at its end, also if it throws. Null: does nothing.
class ScopedStepTrace {
 public:
  explicit ScopedStepTrace(StepTrace* trace) : trace_(trace) {}
  ~ScopedStepTrace() {
    if (trace_) trace_->hand_over();
  }
  ScopedStepTrace(const ScopedStepTrace&) = delete;
  ScopedStepTrace& operator=(const ScopedStepTrace&) = delete;

 private:
  StepTrace* const trace_;
};

}  // namespace kiln::codegen
