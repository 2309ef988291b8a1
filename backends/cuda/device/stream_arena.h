// Device memory that grows without changing its address.
#pragma once

#include "backends/cuda/device/memory_pool.h"

#include <vector>

namespace kiln::cuda {

/// A range of reserved addresses, as large as the device's memory, whose beginning is backed by
/// memory of the device. Growth keeps contents, addresses and recorded graphs valid; a release
/// invalidates graphs. One thread at a time, but for release_unused() and generation().
class StreamArena {
 public:
  explicit StreamArena(std::shared_ptr<MemoryPool> pool) : pool_(std::move(pool)) {}
  /// REQUIRES: no queued work uses the memory.
  ~StreamArena();
  StreamArena(const StreamArena&) = delete;
  StreamArena& operator=(const StreamArena&) = delete;

  /// Backs at least `bytes` from the beginning until finish(); fresh bytes are not initialized.
  /// Throws as MemoryPool::allocate; the mapped memory is then as it was. REQUIRES: a ScopedContext
  /// of the thread, which captures no stream.
  void grow(std::int64_t bytes, const std::string& purpose);
  /// Makes all bytes unused. REQUIRES: no queued work uses the memory.
  void finish() noexcept;
  /// Unmaps memory beyond the bytes of grow(), in whole chunks of at most 64 MiB (or one unit of a
  /// larger granularity), and releases it to the device. Any thread. REQUIRES: a ScopedContext of
  /// the thread, which captures no stream.
  void release_unused() noexcept;

  /// Aligned to 256 bytes. REQUIRES: grow() was called.
  api::DeviceAddress address() const { return begin_; }
  /// Increases with each release of memory.
  std::uint64_t generation() const { return generation_; }

 private:
  void reserve();
  std::int64_t set_needed(std::int64_t bytes);
  api::Status map_more(std::int64_t bytes);
  api::Status map_chunk(std::int64_t bytes);
  void unmap_to(std::int64_t bytes) noexcept;

  std::shared_ptr<MemoryPool> pool_;
  std::mutex mutex_;  // guards the members below
  api::DeviceAddress begin_ = 0;      // set once, by grow(); 0: nothing is reserved yet
  std::int64_t reserved_bytes_ = 0;
  std::int64_t granularity_ = 0;      // of memory of the device
  std::int64_t bytes_ = 0;            // that are backed
  std::int64_t needed_bytes_ = 0;     // by grow(); more than bytes_ while the arena grows
  std::vector<std::int64_t> chunks_;  // bytes of each mapping, in order
  std::atomic<std::uint64_t> generation_{0};
};

}  // namespace kiln::cuda
