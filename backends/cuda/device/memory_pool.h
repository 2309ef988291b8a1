// Device memory of one instance: allocations, counted against the limit that the user set.
#pragma once

#include "backends/cuda/device/stream.h"

#include <functional>

namespace kiln::cuda {

class MemoryPool;

/// Device memory, freed with the object. Moving keeps the address. REQUIRES of the destructor: no
/// queued work uses the memory.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory();

  /// 0 when there are no bytes.
  api::DeviceAddress address() const { return address_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  friend class MemoryPool;

  std::shared_ptr<MemoryPool> pool_;
  api::DeviceAddress address_ = 0;
  std::int64_t bytes_ = 0;
};

/// Memory of the instance that no call needs at present. All functions are thread-safe.
class IdleMemory {
 public:
  /// Releases the idle memory to the device. REQUIRES: a ScopedContext of the thread, which
  /// captures no stream.
  virtual void free_idle() noexcept = 0;

 protected:
  ~IdleMemory() = default;
};

/// A stream-ordered pool of the driver that belongs to the instance. Caches freed memory until an
/// allocation of the instance fails. Synchronizes after each allocation, so that any stream may use
/// the memory. Thread-safe. REQUIRES: owned by a std::shared_ptr.
class MemoryPool final : public MemoryReserve, public std::enable_shared_from_this<MemoryPool> {
 public:
  /// Throws sdk::Failure. REQUIRES: a ScopedContext of the thread.
  MemoryPool(std::shared_ptr<const Device> device, std::int64_t limit);
  /// REQUIRES: no DeviceMemory of the pool is left.
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  const std::shared_ptr<const Device>& device() const { return device_; }
  /// Allocates memory that is aligned to 256 bytes and not initialized. Throws sdk::Failure:
  /// RESOURCE_EXHAUSTED with the bytes asked for, taken, in use and held where the device or the
  /// limit has no more; `purpose` is part of its text. REQUIRES: a ScopedContext of the thread,
  /// which captures no stream.
  DeviceMemory allocate(std::int64_t bytes, const std::string& purpose);

  /// An allocation that the pool counts, but does not own.
  struct Request {
    std::int64_t bytes = 0;         // to count: those to be taken from the device
    std::int64_t needed_bytes = 0;  // that the user's program needs, in part held already
    std::int64_t unit = 1;          // `bytes` is a multiple of it
    const std::string& purpose;
  };
  /// Counts the bytes, after freeing idle memory where they exceed the limit, trims the pool where
  /// its cached memory exceeds the limit with them, and calls `attempt`;
  /// after OutOfMemory trims the pool and calls it again, then also frees idle memory and calls it
  /// a last time. Throws as allocate(); nothing is counted then. REQUIRES: those of allocate();
  /// `attempt` throws nothing; give_back() once the memory is freed.
  void obtain(const Request& request, const std::function<api::Status()>& attempt);
  void give_back(std::int64_t bytes) { used_.fetch_sub(bytes); }

  /// Registers the idle memory, or none with null. Returns once no thread uses the former one.
  void set_idle_memory(IdleMemory* idle);
  /// Frees idle memory and trims the pool.
  void release() noexcept override;

 private:
  friend class DeviceMemory;

  void free(api::DeviceAddress address, std::int64_t bytes);
  std::int64_t held_bytes() const;
  bool charge(std::int64_t bytes);
  void trim() const;
  void free_idle();
  api::Status try_allocate(std::int64_t bytes, api::DeviceAddress& address) const;
  sdk::Failure out_of_memory(const Request& request) const;

  std::shared_ptr<const Device> device_;
  Stream stream_;  // orders allocations and frees
  api::PoolHandle pool_ = nullptr;
  std::int64_t limit_;
  std::atomic<std::int64_t> used_{0};       // as charged
  std::atomic<std::int64_t> allocated_{0};  // the part of them that is of the driver's pool
  std::mutex idle_mutex_;  // guards idle_ and its use
  IdleMemory* idle_ = nullptr;
};

}  // namespace kiln::cuda
