// A stream of a device: work that runs in the order in which it is queued.
#pragma once

#include "backends/cuda/api/api_failure.h"
#include "backends/cuda/device/device.h"

namespace kiln::cuda {

/// Independent of the null stream, which other frameworks may use. Thread-safe. REQUIRES of every
/// function but the destructor: a ScopedContext of the thread; of the destructor: no queued work
/// uses memory that is freed afterwards.
class Stream {
 public:
  explicit Stream(std::shared_ptr<const Device> device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  api::StreamHandle handle() const { return handle_; }
  const Device& device() const { return *device_; }
  /// Waits for all queued work. Throws sdk::Failure, also for errors of that work. Tries once more
  /// after an error that leaves the device usable: the work may then still be running.
  void synchronize() const;
  /// Queues work by `call`, which gives the driver's status. After an error that leaves the device
  /// usable, waits for the stream and calls once more: the driver may have lacked resources while
  /// work was queued, or memory (Device::allocate). Throws sdk::Failure. On a stream that is being
  /// captured, throws after the first error: waiting is an error there and invalidates the capture.
  template <class Call>
  void submit(const Call& call, const char* action) const {
    api::Status status = call();
    if (status != api::Status::Success && !api::ends_device(status)) {
      synchronize();
      status = device_->allocate(call);
    }
    device_->check(status, action);
  }
  /// The status of `call`, by which a library queues work that may run twice; where the device may
  /// lack memory, of another call once the stream is empty and the reserve released. Throws
  /// sdk::Failure where the stream cannot be waited for, as during a capture.
  template <class Call>
  auto submit_by_library(const Call& call) const {
    const auto status = call();
    if (!api::may_lack_memory(status)) return status;
    synchronize();
    device_->release_reserve();
    return call();
  }

 private:
  std::shared_ptr<const Device> device_;
  api::StreamHandle handle_ = nullptr;
};

}  // namespace kiln::cuda
