// The state of the one device and its primary context.
#include "tests/backends/cuda_fakes/driver/state.h"

#include "core/types/no_destructor.h"

#include <algorithm>
#include <cstdlib>

namespace kiln::fake_cuda {

void State::lose(Status status) {
  if (lost != Status::Success) return;
  lost = status;
  streams.drop();
  pools.release_freed();
}

std::byte* State::device_bytes(DeviceAddress address, std::uint64_t bytes) const {
  std::byte* found = pools.find(address, bytes);
  return found != nullptr ? found : mapped.find(address, bytes);
}

std::uint64_t State::pool_limit(const Pool& pool) const {
  const std::uint64_t others = physical_bytes + pools.reserved() - pool.bytes.reserved;
  return memory_limit - std::min(memory_limit, others);
}

std::uint64_t State::unreserved_bytes() const {
  return memory_limit - std::min(memory_limit, physical_bytes + pools.reserved());
}

void State::note_bytes() { max_bytes = std::max<std::uint64_t>(max_bytes, bytes_in_use()); }

State& state() {
  static NoDestructor<State> instance;
  return *instance;
}

std::uint64_t default_memory_limit() {
  const char* value = std::getenv("KILN_TEST_CUDA_MEMORY");
  return value == nullptr ? std::uint64_t{4} << 30 : std::strtoull(value, nullptr, 10);
}

ContextHandle& current_context() {
  thread_local ContextHandle current = nullptr;
  return current;
}

ContextHandle primary_context() {
  static const ContextHandle handle = to_handle<ContextHandle>(next_handle());
  return handle;
}

}  // namespace kiln::fake_cuda
