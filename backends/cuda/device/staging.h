// Copies between host and device through page-locked memory, which makes them asynchronous.
#pragma once

#include "backends/cuda/device/stream.h"

#include <vector>

namespace kiln::cuda {

/// Copies between pageable host memory and device memory in the order of one stream. Copies share
/// one page-locked block; when it is full, finish() synchronizes the stream and the block is
/// reused. One thread at a time. REQUIRES of every function but the destructor: a ScopedContext of
/// the thread. All but abandon() and the destructor throw sdk::Failure.
class Staging {
 public:
  /// The stream outlives the object.
  explicit Staging(const Stream& stream) : stream_(stream) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Queues a copy to the device. Reads `from` before it returns.
  void upload(api::DeviceAddress to, const void* from, std::int64_t bytes);
  /// Queues a copy from the device; finish() stores it to `to`. REQUIRES: `to` stays valid until
  /// finish() or abandon().
  void download(void* to, api::DeviceAddress from, std::int64_t bytes);
  /// Synchronizes the stream, then copies the downloads to their destinations.
  void finish();
  /// Cleans up after a failed call: drops unfinished downloads and synchronizes the stream. If that
  /// fails, ends the device, since queued work may still use memory that the caller frees.
  /// REQUIRES: the stream is not being captured.
  void abandon() noexcept;

 private:
  struct Download {
    void* to;
    const std::byte* from;
    std::int64_t bytes;
  };

  std::byte* reserve(std::int64_t bytes);

  const Stream& stream_;
  std::byte* block_ = nullptr;  // page-locked, kBlockBytes; null before the first copy
  std::int64_t used_ = 0;  // bytes of the block that queued copies use
  std::vector<Download> downloads_;
};

}  // namespace kiln::cuda
