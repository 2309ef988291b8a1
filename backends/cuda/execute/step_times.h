// Times the steps of calls by CUDA events, once the dump stage `timings` was requested. A timed
// call queues its steps one by one, without CUDA graphs.
#pragma once

#include "backends/codegen/plan/step_times.h"
#include "backends/cuda/device/stream.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
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
  /// The stream outlives the object.
  explicit StepTimer(const Stream& stream);
  ~StepTimer();
  StepTimer(const StepTimer&) = delete;
  StepTimer& operator=(const StepTimer&) = delete;

  /// Called before and after a step of the plan queues its work. Calls nest: those for the steps of
  /// a body come between those of its loop or branch. begin() synchronizes with the stream after
  /// many steps.
  void begin(const codegen::Plan& plan, std::size_t step);
  void end();
  /// `whole`: of the call, by the clock of the host. REQUIRES: the work of the call is done.
  MeasuredCall finish(std::chrono::duration<double> whole);

 private:
  struct Interval {
    const codegen::Plan* plan = nullptr;
    std::size_t step = 0;
    api::EventHandle begin = nullptr, end = nullptr;
  };

  /// Runs `measure` unless an event has failed before, and records its failure.
  template <class Measure>
  void attempt(const Measure& measure);
  api::EventHandle acquire();
  void record(api::EventHandle event);
  void collect();

  const Stream& stream_;
  MeasuredCall call_;
  std::vector<api::EventHandle> events_, idle_;  // all events, and the ones of no interval
  std::vector<Interval> open_, done_;
};

/// The sums over the calls of a program. Thread-safe.
class CallTimes {
 public:
  bool wanted() const { return wanted_.load(std::memory_order_relaxed); }
  void want() { wanted_.store(true, std::memory_order_relaxed); }

  void add(const MeasuredCall& call) noexcept;
  /// The table of codegen::print_times(), with the number of calls whose events failed.
  std::string print(const codegen::Program& program) const;

 private:
  std::atomic<bool> wanted_{false};
  mutable std::mutex mutex_;
  codegen::StepTimes sums_;
  std::int64_t failures_ = 0;
  std::string first_failure_;
};

}  // namespace kiln::cuda
