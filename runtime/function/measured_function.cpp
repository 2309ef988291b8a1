// Profiler, and the merge of the partitions' profiles.
#include "runtime/function/measured_function.h"

#include "core/k/base/call.h"

#include <mutex>
#include <utility>

namespace kiln::runtime {

MeasuredFunction::MeasuredFunction(PartitionedProgram programs, std::string backend)
    : programs_(std::move(programs)),
      backend_(std::move(backend)),
      calls_before_(programs_.last->calls.calls()) {
  for (const ProgramPartition& partition : programs_.partitions) {
    measured_.push_back(std::make_unique<MeasuredProgram>(partition.program->program));
  }
  measured_.push_back(std::make_unique<MeasuredProgram>(programs_.last->program));
}

void MeasuredFunction::stop() {
  for (const auto& one : measured_) one->stop();
  const std::lock_guard lock(mutex_);
  if (calls_at_end_ < 0) calls_at_end_ = programs_.last->calls.calls();
}

Profile MeasuredFunction::result() const {
  Profile profile;
  profile.function = programs_.last->program.name;
  profile.backend = backend_;
  for (const auto& one : measured_) one->add_to(profile);
  if (!profile.without_times.empty()) {
    const std::lock_guard lock(mutex_);
    const bool is_stopped = calls_at_end_ >= 0;
    profile.calls = (is_stopped ? calls_at_end_ : programs_.last->calls.calls()) - calls_before_;
  }
  finish_profile(profile);
  return profile;
}

}  // namespace kiln::runtime

namespace kiln {

Profiler::Profiler(std::unique_ptr<State> state) : state_(std::move(state)) {}
Profiler::Profiler(Profiler&&) noexcept = default;
Profiler& Profiler::operator=(Profiler&&) noexcept = default;
Profiler::~Profiler() = default;

void Profiler::stop() {
  if (state_) api_call("stop", {}, [&] { state_->measured.stop(); });
}

Profile Profiler::result() const {
  return api_call("result", {}, [&] {
    if (!state_) throw ValueError("Profiler", "", "a moved-from Profiler has no result");
    return state_->measured.result();
  });
}

}  // namespace kiln
