// Grows device memory in place: reserves an address range and maps memory into it on demand.
#pragma once

#include "backends/cuda/device/memory_pool.h"

#include <vector>

namespace kiln::cuda {

/// Reserves a virtual address range as large as the device's memory (cuMemAddressReserve) and maps
/// physical memory to its beginning (cuMemCreate, cuMemMap). Growth keeps contents, addresses and
/// instantiated graphs valid; a release unmaps memory that earlier graphs may address, so it
/// increments generation(). One thread at a time, except release_unused() and generation().
class StreamArena {
 public:
  explicit StreamArena(std::shared_ptr<MemoryPool> pool) : pool_(std::move(pool)) {}
  /// REQUIRES: no queued work uses the memory.
  ~StreamArena();
  StreamArena(const StreamArena&) = delete;
  StreamArena& operator=(const StreamArena&) = delete;

  /// Maps at least `bytes` from the beginning until finish(); new bytes are not initialized. Throws
  /// as MemoryPool::allocate, with the mappings unchanged. REQUIRES: a ScopedContext of the thread,
  /// which captures no stream.
  void grow(std::int64_t bytes, const std::string& purpose);
  /// Marks all bytes as unused. REQUIRES: no queued work uses the memory.
  void finish() noexcept;
  /// Unmaps memory beyond the bytes of grow() and returns it to the device, in whole chunks of 64
  /// MiB or one allocation granularity, whichever is larger. Any thread. REQUIRES: a ScopedContext
  /// of the thread, which captures no stream.
  void release_unused() noexcept;

  /// Aligned to 256 bytes. REQUIRES: grow() was called.
  api::DeviceAddress address() const { return address_; }
  /// Incremented by each release of memory: graphs of an older generation may address unmapped
  /// memory.
  std::uint64_t generation() const { return generation_; }

 private:
  void reserve();
  std::int64_t set_needed(std::int64_t bytes);
  api::Status map_bytes(std::int64_t bytes);
  api::Status map_chunk(std::int64_t bytes);
  void unmap_to(std::int64_t bytes) noexcept;

  std::shared_ptr<MemoryPool> pool_;
  std::mutex mutex_;  // guards the members below
  api::DeviceAddress address_ = 0;  // set once, by grow(); 0: nothing is reserved yet
  std::int64_t reserved_bytes_ = 0;  // of the address range
  std::int64_t granularity_ = 0;  // of physical allocations
  std::int64_t mapped_bytes_ = 0;  // from the beginning of the range
  std::int64_t needed_bytes_ = 0;  // by grow(); more than mapped_bytes_ while the arena grows
  std::vector<std::int64_t> chunks_;  // bytes of each mapping, in order
  std::atomic<std::uint64_t> generation_{0};
};

}  // namespace kiln::cuda
