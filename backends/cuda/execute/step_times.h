// Times the steps of calls by CUDA events, once the dump stage `timings` or `trace` was requested
// or while a profile is measured. A timed call queues its steps one by one, without CUDA graphs.
#pragma once

#include "backends/codegen/plan/step_times.h"
#include "backends/codegen/step_trace.h"
#include "backends/cuda/device/stream.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace kiln::cuda {

/// The times of one call, or why there are none.
struct MeasuredCall {
  codegen::StepTimes times;
  std::string failure;  // error of an event or of host memory; empty: all steps were timed
};

/// Times the steps of one call. A failed event ends the measurement, not the call. One thread
/// at a time. REQUIRES of all functions: a ScopedContext of the thread. All but the destructor
/// throw sdk::Failure when the device has ended.
class StepTimer {
 public:
  /// The arguments outlive the object. `trace`: receives the events of the call, under the name
  /// `track`; null: the call is not traced. REQUIRES: the stream is idle, so that the device
  /// executes the first event, from which the times of others are counted, at once.
  StepTimer(const Stream& stream, codegen::StepTrace* trace, std::string_view track);
  ~StepTimer();
  StepTimer(const StepTimer&) = delete;
  StepTimer& operator=(const StepTimer&) = delete;

  /// Called before and after a step of the plan queues its work. Calls nest: those for the steps of
  /// a body come between those of its loop or branch. begin() synchronizes with the stream after
  /// many steps.
  void begin(const codegen::Plan& plan, std::size_t step) { begin(&plan, step); }
  bool is_traced() const { return trace_ != nullptr; }
  /// As begin() of a step, for the copies before or after all steps, StepEvent::kCopyIn or
  /// kCopyOut. They are only traced.
  /// REQUIRES: is_traced().
  void begin_copies(std::size_t copies) { begin(nullptr, copies); }
  void end();
  /// `whole`: of the call, by the clock of the host. REQUIRES: the work of the call is done.
  MeasuredCall finish(std::chrono::duration<double> whole);

 private:
  struct Interval {
    const codegen::Plan* plan = nullptr;  // null: copies
    std::size_t step = 0;
    api::EventHandle begin = nullptr, end = nullptr;
  };

  /// Runs `measure` unless an event has failed before, and records its failure.
  template <class Measure>
  void attempt(const Measure& measure);
  void begin(const codegen::Plan* plan, std::size_t step);
  api::EventHandle acquire();
  void record(api::EventHandle event);
  void record_base();
  void set_times();
  double seconds_between(api::EventHandle begin, api::EventHandle end) const;
  void trace(const Interval& one);
  void collect();

  const Stream& stream_;
  codegen::StepTrace* const trace_;
  const std::string_view track_;
  // Of a traced call: an event and when it was recorded, the events after it in order, and the
  // times of events that were executed.
  api::EventHandle base_ = nullptr;
  codegen::Clock::time_point base_time_;
  std::vector<api::EventHandle> recorded_;
  std::unordered_map<api::EventHandle, codegen::Clock::time_point> times_;
  std::vector<codegen::StepEvent> traced_;
  MeasuredCall call_;
  std::vector<api::EventHandle> events_, idle_;  // all events, and the ones of no interval
  std::vector<Interval> open_, done_;
};

/// The sums over the calls of a program. Thread-safe.
class CallTimes {
 public:
  bool wanted() const { return requests_.load(std::memory_order_relaxed) > 0; }
  /// Times calls until as many calls of end().
  void want();
  void end() { requests_.fetch_sub(1, std::memory_order_relaxed); }

  void add(const MeasuredCall& call) noexcept;
  /// The table of codegen::print_times(), with the number of calls whose events failed.
  std::string print(const codegen::Program& program) const;
  /// A copy of the sums.
  codegen::StepTimes sums() const;
  /// "3 calls were not timed: ..."; empty if all were.
  std::string failures() const;

 private:
  std::string failures_text() const;

  std::atomic<int> requests_{0};
  mutable std::mutex mutex_;
  codegen::StepTimes sums_;
  std::int64_t failures_ = 0;
  std::string first_failure_;
};

}  // namespace kiln::cuda
