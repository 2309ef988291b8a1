// Searches the pools linearly: tests have few.
#include "tests/backends/cuda_fakes/driver/pools.h"

namespace kiln::fake_cuda {

Pools::Pools() : default_(add()) {}

bool Pools::destroy(PoolHandle handle) {
  const Pool* pool = find(handle);
  if (pool == nullptr || handle == default_ || !pool->is_empty()) return false;
  pools_.take(handle);
  return true;
}

Pool* Pools::owner(DeviceAddress address) const {
  for (const auto& [handle, pool] : pools_.all()) {
    if (pool->has(address)) return pool.get();
  }
  return nullptr;
}

std::byte* Pools::find(DeviceAddress address, std::uint64_t bytes) const {
  for (const auto& [handle, pool] : pools_.all()) {
    if (std::byte* found = pool->find(address, bytes)) return found;
  }
  return nullptr;
}

void Pools::trim() {
  for (const auto& [handle, pool] : pools_.all()) pool->trim(pool->bytes.release_threshold);
}

void Pools::release_unused() {
  for (const auto& [handle, pool] : pools_.all()) pool->trim(0);
}

void Pools::release_freed() {
  for (const auto& [handle, pool] : pools_.all()) pool->release_freed();
}

std::uint64_t Pools::reserved() const {
  std::uint64_t bytes = 0;
  for (const auto& [handle, pool] : pools_.all()) bytes += pool->bytes.reserved;
  return bytes;
}

std::size_t Pools::blocks() const {
  std::size_t count = 0;
  for (const auto& [handle, pool] : pools_.all()) count += pool->blocks();
  return count;
}

std::size_t Pools::kept_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [handle, pool] : pools_.all()) bytes += pool->kept_bytes();
  return bytes;
}

}  // namespace kiln::fake_cuda
