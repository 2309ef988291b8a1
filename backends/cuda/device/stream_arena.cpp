// Releases the handle of a physical allocation right after mapping it: the mapping keeps the memory
// alive, and cuMemUnmap frees it.
#include "backends/cuda/device/stream_arena.h"

#include "backends/cuda/api/reported.h"
#include "backends/cuda/device/device_address.h"

#include <algorithm>

namespace kiln::cuda {
namespace {

/// The size of one physical allocation, the unit of release_unused().
constexpr std::int64_t kMaxChunk = std::int64_t{64} << 20;
constexpr std::int64_t kMaxGranularity = std::int64_t{1} << 40;
constexpr const char* kDriver = "the NVIDIA driver";

std::size_t size(std::int64_t bytes) { return static_cast<std::size_t>(bytes); }

std::int64_t rounded_up(std::int64_t bytes, std::int64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

api::AllocationProperties properties_of(const Device& device) {
  api::AllocationProperties properties;
  properties.location.device = device.identity().handle;
  return properties;
}

}  // namespace

StreamArena::~StreamArena() {
  const Device& device = *pool_->device();
  if (address_ == 0 || !device.is_usable()) return;
  try {
    const ScopedContext context(device);
    finish();
    release_unused();
    device.driver().mem_address_free(address_, size(reserved_bytes_));
  } catch (...) {
    // The device has just ended: the driver frees the memory with the context.
  }
}

void StreamArena::reserve() {
  const Device& device = *pool_->device();
  const api::Driver& driver = device.driver();
  const api::AllocationProperties properties = properties_of(device);
  std::size_t unit = 0, total = 0;
  device.check(
      driver.mem_get_allocation_granularity(&unit, &properties, api::Granularity::Recommended),
      "read the granularity of memory");
  device.check(driver.device_total_mem(&total, device.identity().handle),
               "read the size of the device's memory");
  granularity_ = api::checked_bytes(
      unit, {kDriver, "cuMemGetAllocationGranularity", "the granularity of memory"}, 1,
      kMaxGranularity);
  reserved_bytes_ = rounded_up(
      api::checked_bytes(total, {kDriver, "cuDeviceTotalMem", "the bytes of the device"}, 1),
      granularity_);
  api::DeviceAddress address = 0;
  device.check(driver.mem_address_reserve(&address, size(reserved_bytes_), 0, 0, 0),
               "reserve addresses");
  if (!api::is_valid_address(address, reserved_bytes_)) {
    throw api::wrong_address(address, reserved_bytes_, "cuMemAddressReserve");
  }
  address_ = address;
}

/// Sets needed_bytes_. Returns the bytes to map for them, a multiple of the granularity.
std::int64_t StreamArena::set_needed(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (address_ == 0) reserve();
  needed_bytes_ = bytes;
  if (bytes <= mapped_bytes_) return 0;
  if (bytes > reserved_bytes_) return bytes;  // which map_bytes() rejects
  const std::int64_t missing = rounded_up(bytes, granularity_) - mapped_bytes_;
  chunks_.reserve(chunks_.size() + static_cast<std::size_t>(missing / kMaxChunk) + 1);
  return missing;
}

void StreamArena::grow(std::int64_t bytes, const std::string& purpose) {
  const std::int64_t missing = set_needed(bytes);
  if (missing == 0) return;
  // mutex_ is not held: allocate_within_limit() may call release_unused() of all arenas. It does
  // not unmap memory of this one, since needed_bytes_ is already set.
  const std::int64_t unit = bytes > reserved_bytes_ ? 1 : granularity_;
  pool_->allocate_within_limit(
      {.bytes = missing, .needed_bytes = bytes, .unit = unit, .purpose = purpose},
      [&] { return map_bytes(missing); });
}

/// Maps `bytes` of new memory after the mapped ones; on failure unmaps them again.
api::Status StreamArena::map_bytes(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > reserved_bytes_ - mapped_bytes_) return api::Status::OutOfMemory;
  const std::int64_t before = mapped_bytes_, end = mapped_bytes_ + bytes;
  while (mapped_bytes_ < end) {
    const std::int64_t chunk = rounded_up(kMaxChunk, granularity_);
    const api::Status status = map_chunk(std::min(end - mapped_bytes_, chunk));
    if (status == api::Status::Success) continue;
    unmap_to(before);
    return status;
  }
  return api::Status::Success;
}

api::Status StreamArena::map_chunk(std::int64_t bytes) {
  const Device& device = *pool_->device();
  const api::Driver& driver = device.driver();
  const api::AllocationProperties properties = properties_of(device);
  api::AllocationHandle memory = 0;
  api::Status status = driver.mem_create(&memory, size(bytes), &properties, 0);
  if (status != api::Status::Success) return status;
  const api::DeviceAddress begin = offset_by(address_, mapped_bytes_);
  status = driver.mem_map(begin, size(bytes), 0, memory, 0);
  driver.mem_release(memory);
  if (status != api::Status::Success) return status;
  api::AccessDescription access;
  access.location = properties.location;
  status = driver.mem_set_access(begin, size(bytes), &access, 1);
  if (status != api::Status::Success) {
    driver.mem_unmap(begin, size(bytes));
    return status;
  }
  chunks_.push_back(bytes);
  mapped_bytes_ += bytes;
  return status;
}

/// Unmaps the chunks that begin at offset `bytes` or later.
void StreamArena::unmap_to(std::int64_t bytes) noexcept {
  while (!chunks_.empty() && mapped_bytes_ - chunks_.back() >= bytes) {
    mapped_bytes_ -= chunks_.back();
    pool_->device()->driver().mem_unmap(offset_by(address_, mapped_bytes_), size(chunks_.back()));
    chunks_.pop_back();
  }
}

void StreamArena::finish() noexcept {
  const std::lock_guard lock(mutex_);
  needed_bytes_ = 0;
}

void StreamArena::release_unused() noexcept {
  const std::lock_guard lock(mutex_);
  const std::int64_t before = mapped_bytes_;
  unmap_to(needed_bytes_);
  if (mapped_bytes_ == before) return;
  pool_->uncharge(before - mapped_bytes_);
  ++generation_;
}

}  // namespace kiln::cuda
