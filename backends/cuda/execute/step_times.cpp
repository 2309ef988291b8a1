// Records an event before and after each step. Both are created before the first is recorded, so
// that no measured time includes their creation.
#include "backends/cuda/execute/step_times.h"

#include "core/types/fp_environment.h"
#include "core/types/text.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

namespace kiln::cuda {
namespace {

using namespace codegen;

/// Steps timed between two synchronizations: each iteration of a loop needs events of its own.
constexpr std::size_t kMaxIntervals = 1024;

}  // namespace

// ---- StepTimer ----

StepTimer::StepTimer(const Stream& stream, StepTrace* trace, std::string_view track)
    : stream_(stream), trace_(trace), track_(track) {
  if (!is_traced()) return;
  attempt([&] {
    base_ = acquire();
    record_base();
  });
}

StepTimer::~StepTimer() {
  const Device& device = stream_.device();
  if (!device.is_usable()) return;
  for (const api::EventHandle event : events_) device.driver().event_destroy(event);
}

template <class Measure>
void StepTimer::attempt(const Measure& measure) {
  if (!call_.failure.empty()) return;
  try {
    measure();
  } catch (const sdk::Failure& failure) {
    if (!stream_.device().is_usable()) throw;
    call_.failure = failure.what();
  } catch (const std::bad_alloc&) {
    call_.failure = "no memory";
  }
}

api::EventHandle StepTimer::acquire() {
  if (idle_.empty()) {
    // Reserves space for the handle first, so that no event leaks if host memory is exhausted.
    events_.push_back(nullptr);
    idle_.reserve(events_.size());
    api::EventHandle event = nullptr;
    const api::Status status =
        stream_.device().driver().event_create(&event, api::EventFlags::Default);
    if (status != api::Status::Success) events_.pop_back();
    stream_.device().check(status, "create an event");
    events_.back() = event;
    return event;
  }
  const api::EventHandle event = idle_.back();
  idle_.pop_back();
  return event;
}

void StepTimer::record(api::EventHandle event) {
  const Device& device = stream_.device();
  device.check(device.driver().event_record(event, stream_.handle()), "record an event");
  if (is_traced()) recorded_.push_back(event);
}

/// REQUIRES: the stream is idle.
void StepTimer::record_base() {
  base_time_ = std::max(Clock::now(), base_time_);
  record(base_);
  recorded_.clear();
}

void StepTimer::begin(const Plan* plan, std::size_t step) {
  attempt([&] {
    if (done_.size() >= kMaxIntervals) {
      stream_.synchronize();
      collect();
      if (is_traced()) record_base();
    }
    const api::EventHandle first = acquire();
    open_.push_back({plan, step, first, acquire()});
    record(first);
  });
}

void StepTimer::end() {
  attempt([&] {
    done_.push_back(open_.back());
    open_.pop_back();
    record(done_.back().end);
  });
}

/// REQUIRES: the stream has executed the events.
double StepTimer::seconds_between(api::EventHandle begin, api::EventHandle end) const {
  const Device& device = stream_.device();
  float milliseconds = 0;
  device.check(device.driver().event_elapsed_time(&milliseconds, begin, end),
               "read the time between two events");
  if (milliseconds >= 0 && !std::isinf(milliseconds)) {
    return static_cast<double>(milliseconds) * 1e-3;
  }
  throw sdk::Failure(KILN_CODE_INTERNAL,
                     text("the NVIDIA driver reports ", milliseconds,
                          " as the milliseconds between two events (cuEventElapsedTime)"));
}

/// Sets the times of the events since base_: each is counted from the one before, as the driver's
/// milliseconds are floats, which of many seconds have no microseconds. Times in the order of the
/// events keep those of a body within their loop or branch. REQUIRES: the stream has executed them.
void StepTimer::set_times() {
  api::EventHandle before = base_;
  std::chrono::duration<double> since(0);
  Clock::time_point time = base_time_;
  for (const api::EventHandle event : std::exchange(recorded_, {})) {
    since += std::chrono::duration<double>(seconds_between(before, event));
    time = base_time_ + std::chrono::duration_cast<Clock::duration>(since);
    times_[event] = time;
    before = event;
  }
  base_time_ = time;  // the next base is not earlier
}

void StepTimer::trace(const Interval& one) {
  traced_.push_back({.plan = one.plan,
                     .row = one.step,
                     .begin = times_.at(one.begin),
                     .end = times_.at(one.end)});
}

/// Adds the times of `done_` to the sums. REQUIRES: the stream has executed their events.
void StepTimer::collect() {
  const ScopedFpEnvironment usual;
  if (is_traced()) set_times();
  for (const Interval& one : done_) {
    if (one.plan != nullptr) {
      std::vector<StepSum>& steps = call_.times.plans[one.plan];
      steps.resize(one.plan->steps.size());
      steps[one.step].add(seconds_between(one.begin, one.end));
    }
    if (is_traced()) trace(one);
    idle_.insert(idle_.end(), {one.begin, one.end});
  }
  done_.clear();
  if (is_traced()) trace_->hand_over(traced_, track_);
}

MeasuredCall StepTimer::finish(std::chrono::duration<double> whole) {
  attempt([&] { collect(); });
  call_.times.whole.add(whole.count());
  return std::move(call_);
}

// ---- CallTimes ----

void CallTimes::want() {
  const std::lock_guard lock(mutex_);
  if (requests_.fetch_add(1, std::memory_order_relaxed) == 0) sums_.begin();
}

/// Drops the times if the host has no memory for them: the call has succeeded.
void CallTimes::add(const MeasuredCall& call) noexcept try {
  const ScopedFpEnvironment usual;
  const std::lock_guard lock(mutex_);
  if (!call.failure.empty()) {
    if (failures_++ == 0) first_failure_ = call.failure;
    return;
  }
  sums_.whole.add_call(call.times.whole);
  for (const auto& [plan, steps] : call.times.plans) {
    std::vector<StepSum>& sums = sums_.plans[plan];
    sums.resize(steps.size());
    for (std::size_t s = 0; s < steps.size(); ++s) sums[s].add_call(steps[s]);
  }
} catch (const std::bad_alloc&) {
  return;
}

std::string CallTimes::print(const Program& program) const {
  const std::lock_guard lock(mutex_);
  std::string out = print_times(
      program, sums_,
      "# measured by events of the device; each step is queued by itself, without CUDA graphs;\n"
      "# branches and host calls include the time of the host; time outside of all steps (copies\n"
      "# of inputs, measuring) is in the first row only\n");
  return failures_ == 0 ? out : out + "# " + failures_text() + "\n";
}

codegen::StepTimes CallTimes::sums() const {
  const std::lock_guard lock(mutex_);
  return sums_;
}

std::string CallTimes::failures() const {
  const std::lock_guard lock(mutex_);
  return failures_ == 0 ? "" : failures_text();
}

std::string CallTimes::failures_text() const {
  return text(failures_, " calls were not timed: ", first_failure_);
}

}  // namespace kiln::cuda
