// Records an event before and after each step. Both are created before the first is recorded, so
// that no measured time includes their creation.
#include "backends/cuda/execute/step_times.h"

#include "core/types/fp_environment.h"
#include "core/types/text.h"

#include <cmath>
#include <new>

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
    first_ = acquire();
    start_ = Clock::now();
    record(first_);
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
}

void StepTimer::begin(const Plan* plan, std::size_t step) {
  attempt([&] {
    if (done_.size() >= kMaxIntervals) {
      stream_.synchronize();
      collect();
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

/// Adds an event of the trace. Both ends are counted from first_, so that rounding keeps events of
/// a body within that of their loop or branch.
void StepTimer::trace(const Interval& one) {
  const auto time_of = [&](api::EventHandle event) {
    const std::chrono::duration<double> since(seconds_between(first_, event));
    return start_ + std::chrono::duration_cast<Clock::duration>(since);
  };
  traced_.push_back(
      {.plan = one.plan, .row = one.step, .begin = time_of(one.begin), .end = time_of(one.end)});
}

/// Adds the times of `done_` to the sums. REQUIRES: the stream has executed their events.
void StepTimer::collect() {
  const ScopedFpEnvironment usual;
  for (const Interval& one : done_) {
    if (one.plan != nullptr) {
      std::vector<StepTime>& steps = call_.times.plans[one.plan];
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

/// Drops the times if the host has no memory for them: the call has succeeded.
void CallTimes::add(const MeasuredCall& call) noexcept try {
  const ScopedFpEnvironment usual;
  const std::lock_guard lock(mutex_);
  if (!call.failure.empty()) {
    if (failures_++ == 0) first_failure_ = call.failure;
    return;
  }
  sums_.whole.add(call.times.whole);
  for (const auto& [plan, steps] : call.times.plans) {
    std::vector<StepTime>& sums = sums_.plans[plan];
    sums.resize(steps.size());
    for (std::size_t s = 0; s < steps.size(); ++s) sums[s].add(steps[s]);
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
