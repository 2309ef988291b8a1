// Allocates staging memory from one page-locked block by a bump pointer; each synchronization
// resets it.
#include "backends/cuda/device/staging.h"

#include <algorithm>
#include <cstring>

namespace kiln::cuda {
namespace {

constexpr std::int64_t kBlockBytes = std::int64_t{4} << 20;  // large enough for the bus's full rate
constexpr std::int64_t kAlignment = 64;

std::size_t size(std::int64_t bytes) { return static_cast<std::size_t>(bytes); }

}  // namespace

Staging::~Staging() {
  const Device& device = stream_.device();
  if (block_ == nullptr || !device.is_usable()) return;
  try {
    const ScopedContext context(device);
    device.driver().mem_free_host(block_);
  } catch (...) {
    // The device has just ended: the driver frees the block with the context.
  }
}

/// Reserves bytes of the block; calls finish() first when they do not fit. REQUIRES: at most
/// kBlockBytes.
std::byte* Staging::reserve(std::int64_t bytes) {
  const Device& device = stream_.device();
  if (block_ == nullptr) {
    void* block = nullptr;
    device.check(
        device.driver().mem_host_alloc(&block, size(kBlockBytes), api::HostMemoryFlags::Portable),
        "allocate page-locked host memory");
    if (block == nullptr) {
      throw sdk::Failure(KILN_CODE_INTERNAL,
                         "the NVIDIA driver reports no address for host memory (cuMemHostAlloc)");
    }
    block_ = static_cast<std::byte*>(block);
  }
  if (bytes > kBlockBytes - used_) finish();
  std::byte* const begin = block_ + used_;
  used_ = std::min(kBlockBytes, (used_ + bytes + kAlignment - 1) / kAlignment * kAlignment);
  return begin;
}

void Staging::upload(api::DeviceAddress to, const void* from, std::int64_t bytes) {
  const Device& device = stream_.device();
  const auto* source = static_cast<const std::byte*>(from);
  for (std::int64_t done = 0; done < bytes;) {
    const std::int64_t piece = std::min(bytes - done, kBlockBytes);
    std::byte* const staged = reserve(piece);
    std::memcpy(staged, source + done, size(piece));
    const api::DeviceAddress begin = to + static_cast<api::DeviceAddress>(done);
    stream_.submit(
        [&] {
          return device.driver().memcpy_host_to_device_async(begin, staged, size(piece),
                                                             stream_.handle());
        },
        "copy to the device");
    done += piece;
  }
}

void Staging::download(void* to, api::DeviceAddress from, std::int64_t bytes) {
  const Device& device = stream_.device();
  auto* destination = static_cast<std::byte*>(to);
  for (std::int64_t done = 0; done < bytes;) {
    const std::int64_t piece = std::min(bytes - done, kBlockBytes);
    std::byte* const staged = reserve(piece);
    const api::DeviceAddress begin = from + static_cast<api::DeviceAddress>(done);
    stream_.submit(
        [&] {
          return device.driver().memcpy_device_to_host_async(staged, begin, size(piece),
                                                             stream_.handle());
        },
        "copy from the device");
    downloads_.push_back({destination + done, staged, piece});
    done += piece;
  }
}

void Staging::finish() {
  stream_.synchronize();
  for (const Download& one : downloads_) std::memcpy(one.to, one.from, size(one.bytes));
  downloads_.clear();
  used_ = 0;
}

void Staging::abandon() noexcept {
  downloads_.clear();
  used_ = 0;
  try {
    stream_.synchronize();
  } catch (const sdk::Failure& failure) {
    stream_.device().end(failure);
  } catch (...) {
    stream_.device().end();  // the host has no memory for the text of the error
  }
}

}  // namespace kiln::cuda
