// A stream of a device: work that runs in the order in which it is queued.
#pragma once

#include "backends/cuda/device/device.h"

namespace kiln::cuda {

/// Independent of the null stream, which other frameworks may use. REQUIRES of every function but
/// the destructor: a ScopedContext of the thread.
class Stream {
 public:
  explicit Stream(std::shared_ptr<const Device> device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  api::StreamHandle handle() const { return handle_; }
  const Device& device() const { return *device_; }
  /// Waits for all that is queued. Throws sdk::Failure, also for errors of queued work.
  void synchronize() const;

 private:
  std::shared_ptr<const Device> device_;
  api::StreamHandle handle_ = nullptr;
};

}  // namespace kiln::cuda
