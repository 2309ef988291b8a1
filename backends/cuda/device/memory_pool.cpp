// Retries allocations after returning cached and idle memory to the device.
#include "backends/cuda/device/memory_pool.h"

#include "backends/cuda/api/reported.h"
#include "core/types/text.h"

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
    : device_(std::move(device)), stream_(device_), limit_(limit) {
  const api::Driver& driver = device_->driver();
  api::PoolProperties properties;
  properties.location.device = device_->identity().handle;
  device_->check(driver.mem_pool_create(&pool_, &properties), "create a memory pool");
  std::uint64_t threshold = UINT64_MAX;
  const api::Status status =
      driver.mem_pool_set_attribute(pool_, api::PoolAttribute::ReleaseThreshold, &threshold);
  if (status != api::Status::Success) driver.mem_pool_destroy(pool_);
  device_->check(status, "let a memory pool keep freed memory");
  device_->set_cached_memory(this);
}

MemoryPool::~MemoryPool() {
  device_->set_cached_memory(nullptr);
  if (!device_->is_usable()) return;
  try {
    const ScopedContext context(*device_);
    const api::Driver& driver = device_->driver();
    driver.stream_synchronize(stream_.handle());  // completes frees
    driver.mem_pool_destroy(pool_);
  } catch (...) {
    // The device has just ended: the driver frees the pool with the context.
  }
}

DeviceMemory MemoryPool::allocate(std::int64_t bytes, const std::string& purpose) {
  DeviceMemory memory;
  if (bytes == 0) return memory;
  allocate_within_limit({.bytes = bytes, .needed_bytes = bytes, .purpose = purpose},
                        [&] { return try_allocate(bytes, memory.address_); });
  if (!api::is_valid_address(memory.address_, bytes)) {
    uncharge(bytes);
    throw api::wrong_address(memory.address_, bytes, "cuMemAllocFromPoolAsync");
  }
  allocated_.fetch_add(bytes);
  memory.pool_ = shared_from_this();
  memory.bytes_ = bytes;
  return memory;
}

void MemoryPool::allocate_within_limit(const Request& request,
                                       const std::function<api::Status()>& attempt) {
  bool is_charged = try_charge(request.bytes);
  if (!is_charged) {
    free_idle();
    is_charged = try_charge(request.bytes);
  }
  if (!is_charged) throw out_of_memory(request);
  // Freed memory that the driver's pool caches counts, too.
  if (limit_ != INT64_MAX && held_bytes() > limit_) trim();
  api::Status status = attempt();
  if (status == api::Status::OutOfMemory) {
    // The pool's cached blocks may each be too small: return them to the device as a whole.
    trim();
    status = attempt();
  }
  if (status == api::Status::OutOfMemory) {
    release();
    status = attempt();
  }
  if (status == api::Status::Success) return;
  uncharge(request.bytes);
  if (status == api::Status::OutOfMemory) throw out_of_memory(request);
  device_->check(status, "allocate device memory");
}

/// Adds to used_. False, without the addition, if the sum would exceed the limit.
bool MemoryPool::try_charge(std::int64_t bytes) {
  std::int64_t used = used_.load();
  do {
    if (bytes > limit_ || used > limit_ - bytes) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes));
  return true;
}

void MemoryPool::trim() const {
  const api::Driver& driver = device_->driver();
  driver.stream_synchronize(stream_.handle());  // completes frees
  driver.mem_pool_trim_to(pool_, 0);
}

void MemoryPool::set_idle_memory(IdleMemory* idle) {
  const std::lock_guard lock(idle_mutex_);
  idle_ = idle;
}

void MemoryPool::free_idle() {
  const std::lock_guard lock(idle_mutex_);
  if (idle_ != nullptr) idle_->free_idle();
}

void MemoryPool::release() noexcept {
  free_idle();
  trim();
}

api::Status MemoryPool::try_allocate(std::int64_t bytes, api::DeviceAddress& address) const {
  const api::Driver& driver = device_->driver();
  const api::Status status = driver.mem_alloc_from_pool_async(
      &address, static_cast<std::size_t>(bytes), pool_, stream_.handle());
  const api::Status finished = driver.stream_synchronize(stream_.handle());
  if (status == api::Status::Success && finished != api::Status::Success) {
    driver.mem_free_async(address, stream_.handle());
    return finished;
  }
  return status;
}

void MemoryPool::free(api::DeviceAddress address, std::int64_t bytes) {
  allocated_.fetch_sub(bytes);
  used_.fetch_sub(bytes);
  if (!device_->is_usable()) return;
  try {
    const ScopedContext context(*device_);
    device_->driver().mem_free_async(address, stream_.handle());
  } catch (...) {
    // The device has just ended: the driver frees its memory with the context.
  }
}

/// The bytes of the device that the instance holds: memory in use, rounded up to the driver's
/// granularity, and freed memory that the driver's pool caches. used_ if the driver cannot tell, or
/// reports more bytes than a device has.
std::int64_t MemoryPool::held_bytes() const {
  std::uint64_t reserved = 0;
  const api::Status status =
      device_->driver().mem_pool_get_attribute(pool_, api::PoolAttribute::ReservedBytes, &reserved);
  const bool is_plausible = std::cmp_less_equal(reserved, api::kMaxReportedBytes);
  if (status != api::Status::Success || !is_plausible) return used_.load();
  return used_.load() - allocated_.load() + static_cast<std::int64_t>(reserved);
}

sdk::Failure MemoryPool::out_of_memory(const Request& request) const {
  const std::int64_t used = used_.load(), held = held_bytes();
  std::string message = text(device_->title(), " has no memory for ", request.needed_bytes,
                             " bytes of ", request.purpose);
  if (request.bytes != request.needed_bytes) {
    message += text(" (", request.bytes, " bytes more, in units of ", request.unit, ")");
  }
  message += text(": ", used, " bytes are in use by Kiln");
  if (limit_ != INT64_MAX) message += text(", whose limit is ", limit_);
  std::size_t left = 0, total = 0;
  if (device_->driver().mem_get_info(&left, &total) == api::Status::Success) {
    message += text(", ", left, " of ", total, " are free");
  }
  if (held != used) message += text(", ", held, " are held by Kiln");
  return {KILN_CODE_RESOURCE_EXHAUSTED, message};
}

}  // namespace kiln::cuda
