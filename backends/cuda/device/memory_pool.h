// Allocates the device memory of one instance within the limit that the user set.
#pragma once

#include "backends/cuda/device/stream.h"

#include <functional>

namespace kiln::cuda {

class MemoryPool;

/// An allocation of a MemoryPool, freed by the destructor. Moving keeps the address. REQUIRES of
/// the destructor: no queued work uses the memory.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory();

  /// 0 for an allocation of no bytes.
  api::DeviceAddress address() const { return address_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  friend class MemoryPool;

  std::shared_ptr<MemoryPool> pool_;
  api::DeviceAddress address_ = 0;
  std::int64_t bytes_ = 0;
};

/// Mapped memory of arenas that no running call uses. Thread-safe.
class IdleMemory {
 public:
  /// Returns the idle memory to the device. REQUIRES: a ScopedContext of the thread, which
  /// captures no stream.
  virtual void free_idle() noexcept = 0;

 protected:
  ~IdleMemory() = default;
};

/// A memory pool of the driver (cuMemPoolCreate) that belongs to the instance and keeps freed
/// memory mapped (release threshold: no limit) until an allocation of the instance fails.
///
/// Stream order: cuMemAllocFromPoolAsync and cuMemFreeAsync take effect in the order of a stream,
/// here one of the pool's own. Memory may be used on another stream only after the allocation is
/// ordered before that use, so every allocation synchronizes with the pool's stream. A free needs
/// no synchronization: calls have synchronized with all work that used the memory.
///
/// Thread-safe. REQUIRES: owned by a std::shared_ptr.
class MemoryPool final : public CachedMemory, public std::enable_shared_from_this<MemoryPool> {
 public:
  /// Throws sdk::Failure. REQUIRES: a ScopedContext of the thread.
  MemoryPool(std::shared_ptr<const Device> device, std::int64_t limit);
  /// REQUIRES: no DeviceMemory of the pool is left.
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  const std::shared_ptr<const Device>& device() const { return device_; }
  /// Allocates uninitialized memory, aligned to 256 bytes. Throws sdk::Failure RESOURCE_EXHAUSTED
  /// when the device or the limit is exhausted; its text has `purpose` and the bytes requested, in
  /// use and held. REQUIRES: a ScopedContext of the thread, which captures no stream.
  DeviceMemory allocate(std::int64_t bytes, const std::string& purpose);

  /// An allocation that counts against the limit; a StreamArena, not the pool, may own it.
  struct Request {
    std::int64_t bytes = 0;  // new memory of the device, which is counted
    std::int64_t needed_bytes = 0;  // the program's total, in part mapped already; for the error
    std::int64_t unit = 1;  // allocation granularity: `bytes` is a multiple of it
    const std::string& purpose;
  };
  /// Counts the bytes against the limit and calls `attempt`, which allocates them. Makes space in
  /// steps: if the bytes exceed the limit, frees idle memory; if they exceed it together with the
  /// cached memory, trims the pool; if `attempt` returns OutOfMemory, trims the pool and tries
  /// again, then frees idle memory, too, and tries a last time. Throws as allocate(), with nothing
  /// counted. REQUIRES: those of allocate(); `attempt` throws nothing; the owner calls uncharge()
  /// once it has freed the memory.
  void allocate_within_limit(const Request& request, const std::function<api::Status()>& attempt);
  void uncharge(std::int64_t bytes) { used_.fetch_sub(bytes); }

  /// Registers the idle memory; null unregisters it. Returns once no thread uses the former one.
  void set_idle_memory(IdleMemory* idle);
  /// Frees idle memory and trims the pool.
  void release() noexcept override;

 private:
  friend class DeviceMemory;

  void free(api::DeviceAddress address, std::int64_t bytes);
  std::int64_t held_bytes() const;
  bool try_charge(std::int64_t bytes);
  void trim() const;
  void free_idle();
  api::Status try_allocate(std::int64_t bytes, api::DeviceAddress& address) const;
  sdk::Failure out_of_memory(const Request& request) const;

  std::shared_ptr<const Device> device_;
  Stream stream_;  // orders allocations and frees
  api::PoolHandle pool_ = nullptr;
  std::int64_t limit_;
  std::atomic<std::int64_t> used_{0};  // bytes that count against limit_
  std::atomic<std::int64_t> allocated_{0};  // the part of used_ that is in the driver's pool
  std::mutex idle_mutex_;  // guards idle_ and its use
  IdleMemory* idle_ = nullptr;
};

}  // namespace kiln::cuda
