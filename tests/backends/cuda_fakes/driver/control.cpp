// The exported functions for tests.
#include "tests/backends/cuda_fakes/control.h"

#include "backends/cuda/api/api_failure.h"
#include "tests/backends/cuda_fakes/driver/state.h"

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

using namespace kiln::fake_cuda;

namespace {

/// Captures end with the context that they belong to.
void abandon_captures() {
  const std::vector<std::shared_ptr<Capture>> captures = state().captures;
  for (const auto& capture : captures) {
    for (const auto& stream : capture->streams) {
      if (const auto held = stream.lock()) leave_capture(*held);
    }
  }
  state().captures.clear();
}

}  // namespace

FAKE_EXPORT int fake_cuda_fail(const char* function, int nth, int status) {
  const std::lock_guard lock(state().mutex);
  return state().calls.fail(function, nth, static_cast<Status>(status)) ? 1 : 0;
}

FAKE_EXPORT void fake_cuda_reset() {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  all.calls.forget_failures();
  if (all.lost != Status::Success) abandon_captures();
  all.lost = Status::Success;
  all.memory_limit = default_memory_limit();
  all.max_bytes = all.bytes_in_use();
}

FAKE_EXPORT int fake_cuda_calls(const char* function) {
  const std::lock_guard lock(state().mutex);
  return state().calls.count_of(function);
}

FAKE_EXPORT void fake_cuda_limit_memory(std::size_t bytes) {
  const std::lock_guard lock(state().mutex);
  state().memory_limit = bytes;
}

FAKE_EXPORT FakeCudaUsage fake_cuda_usage() {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  return {.allocations = all.pools.blocks() + all.physical_count,
          .bytes = all.bytes_in_use(),
          .max_bytes = all.max_bytes,
          .pools = all.pools.created(),
          .ranges = all.mapped.ranges(),
          .host_allocations = all.host.size(),
          .streams = all.streams.size(),
          .events = all.events.size(),
          .libraries = all.libraries.size(),
          .graphs = all.graphs.size(),
          .executable_graphs = all.executable_graphs.size(),
          .retained_contexts = all.retained,
          .pending_operations = all.streams.pending()};
}
