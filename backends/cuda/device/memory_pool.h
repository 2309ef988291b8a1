// Device memory of one instance: allocations, counted against the limit that the user set.
#pragma once

#include "backends/cuda/device/stream.h"

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

/// Allocates from the device's default stream-ordered pool, and synchronizes: any stream may use
/// the memory at once. Thread-safe. REQUIRES: owned by a std::shared_ptr.
class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  /// Throws sdk::Failure. REQUIRES: a ScopedContext of the thread.
  MemoryPool(std::shared_ptr<const Device> device, std::int64_t limit);

  const std::shared_ptr<const Device>& device() const { return device_; }
  /// Aligned to 256 bytes, not initialized. Throws sdk::Failure: RESOURCE_EXHAUSTED with the
  /// bytes in use where the device or the limit has no more; `purpose` is part of its text.
  /// REQUIRES: a ScopedContext of the thread.
  DeviceMemory allocate(std::int64_t bytes, const std::string& purpose);

 private:
  friend class DeviceMemory;

  void free(api::DeviceAddress address, std::int64_t bytes);
  api::Status try_allocate(std::int64_t bytes, api::DeviceAddress& address) const;
  sdk::Failure out_of_memory(std::int64_t bytes, const std::string& purpose) const;

  std::shared_ptr<const Device> device_;
  Stream stream_;  // orders allocations and frees
  std::int64_t limit_;
  std::atomic<std::int64_t> used_{0};
};

}  // namespace kiln::cuda
