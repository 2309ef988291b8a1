// Page-locked host memory, through which tensors go to a device and back.
#pragma once

#include "backends/cuda/device/stream.h"

#include <vector>

namespace kiln::cuda {

/// Copies between pageable host memory and device memory in the order of one stream. Copies share a
/// page-locked block; when it is full, the stream is synchronized and the block reused. One thread
/// at a time. REQUIRES of every function but the destructor: a ScopedContext of the thread. All but
/// abandon() and the destructor throw sdk::Failure.
class Staging {
 public:
  /// The stream outlives the object.
  explicit Staging(const Stream& stream) : stream_(stream) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Queues a copy; `from` is read before the function returns.
  void upload(api::DeviceAddress to, const void* from, std::int64_t bytes);
  /// Queues a copy whose bytes are in `to` after finish(). REQUIRES: `to` stays valid until
  /// finish() or abandon().
  void download(void* to, api::DeviceAddress from, std::int64_t bytes);
  /// Synchronizes with the stream, then copies the downloads to their destinations.
  void finish();
  /// After a call that failed: drops unfinished downloads and synchronizes with the stream. If that
  /// fails, ends the device: queued work may still use memory that the caller frees.
  /// REQUIRES: the stream is not being captured.
  void abandon() noexcept;

 private:
  struct Download {
    void* to;
    const std::byte* from;
    std::int64_t bytes;
  };

  std::byte* room(std::int64_t bytes);

  const Stream& stream_;
  std::byte* block_ = nullptr;  // of kBlockBytes
  std::int64_t used_ = 0;       // bytes of the block, since the last synchronization
  std::vector<Download> downloads_;
};

}  // namespace kiln::cuda
