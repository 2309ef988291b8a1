// Synchronizes after each allocation, so that any stream may use the memory. Frees need no
// synchronization: calls have synchronized with all work that used the memory.
#include "backends/cuda/device/memory_pool.h"

#include <utility>

namespace kiln::cuda {

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (pool_) pool_->free(address_, bytes_);
}

MemoryPool::MemoryPool(std::shared_ptr<const Device> device, std::int64_t limit)
    : device_(std::move(device)), stream_(device_), limit_(limit) {}

DeviceMemory MemoryPool::allocate(std::int64_t bytes, const std::string& purpose) {
  DeviceMemory memory;
  if (bytes == 0) return memory;
  if (used_.fetch_add(bytes) > limit_ - bytes) {
    used_.fetch_sub(bytes);
    throw out_of_memory(bytes, purpose);
  }
  api::Status status = try_allocate(bytes, memory.address_);
  if (status == api::Status::OutOfMemory) {
    // The pool may still reserve freed memory, in pieces that are too small.
    api::PoolHandle pool = nullptr;
    const api::Driver& driver = device_->driver();
    if (driver.device_get_default_mem_pool(&pool, device_->identity().handle) ==
        api::Status::Success) {
      driver.mem_pool_trim_to(pool, 0);
    }
    status = try_allocate(bytes, memory.address_);
  }
  if (status != api::Status::Success) {
    used_.fetch_sub(bytes);
    if (status == api::Status::OutOfMemory) throw out_of_memory(bytes, purpose);
    device_->check(status, "allocate device memory");
  }
  memory.pool_ = shared_from_this();
  memory.bytes_ = bytes;
  return memory;
}

api::Status MemoryPool::try_allocate(std::int64_t bytes, api::DeviceAddress& address) const {
  const api::Driver& driver = device_->driver();
  const api::Status status =
      driver.mem_alloc_async(&address, static_cast<std::size_t>(bytes), stream_.handle());
  const api::Status finished = driver.stream_synchronize(stream_.handle());
  if (status == api::Status::Success && finished != api::Status::Success) {
    driver.mem_free_async(address, stream_.handle());
    return finished;
  }
  return status;
}

void MemoryPool::free(api::DeviceAddress address, std::int64_t bytes) {
  used_.fetch_sub(bytes);
  if (!device_->is_usable()) return;
  try {
    const ScopedContext context(*device_);
    device_->driver().mem_free_async(address, stream_.handle());
  } catch (...) {
    // The device has just ended: its memory went with it.
  }
}

sdk::Failure MemoryPool::out_of_memory(std::int64_t bytes, const std::string& purpose) const {
  std::string text = device_->title() + " has no memory for " + std::to_string(bytes) +
                     " bytes of " + purpose + ": " + std::to_string(used_.load()) +
                     " bytes are in use by Kiln";
  if (limit_ != INT64_MAX) text += ", whose limit is " + std::to_string(limit_);
  std::size_t left = 0, total = 0;
  if (device_->driver().mem_get_info(&left, &total) == api::Status::Success) {
    text += ", " + std::to_string(left) + " of " + std::to_string(total) + " are free";
  }
  return {KILN_CODE_RESOURCE_EXHAUSTED, text};
}

}  // namespace kiln::cuda
