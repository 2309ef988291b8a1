// Wraps a CUDA stream: queued work runs in order.
#pragma once

#include "backends/cuda/api/api_failure.h"
#include "backends/cuda/device/device.h"

namespace kiln::cuda {

class Stream;

/// Waits for a stream while other processes take part in its work.
class StreamWaiter {
 public:
  /// Returns when the stream has no work, or its work has failed. Throws sdk::Failure.
  virtual void wait(const Stream& stream) = 0;

 protected:
  ~StreamWaiter() = default;
};

/// A non-blocking stream: it does not synchronize with the legacy default stream, which other
/// frameworks may use. Thread-safe. REQUIRES of every function but the destructor: a ScopedContext
/// of the thread; of the destructor: no queued work uses memory that is freed afterwards.
class Stream {
 public:
  explicit Stream(std::shared_ptr<const Device> device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  api::StreamHandle handle() const { return handle_; }
  const Device& device() const { return *device_; }
  /// Sets what waits before each synchronization; null: nothing. One thread uses the stream.
  void set_waiter(StreamWaiter* waiter) { waiter_ = waiter; }
  /// Waits for all queued work. Throws sdk::Failure, also for asynchronous errors of that work.
  /// Tries once more after an error that is not sticky: the work may then still be running.
  void synchronize() const;
  /// Queues work by `call`, which returns the driver's status. After an error that is not sticky,
  /// synchronizes and calls once more: the driver may have lacked resources while work was queued,
  /// or memory (Device::allocate). Throws sdk::Failure. During a capture, throws after the first
  /// error: the capture forbids cuStreamSynchronize, which fails and invalidates the capture.
  template <class Call>
  void submit(const Call& call, const char* action) const {
    api::Status status = call();
    if (status != api::Status::Success && !api::ends_device(status)) {
      synchronize();
      status = device_->allocate(call);
    }
    device_->check(status, action);
  }
  /// Queues work by `call`, a function of a library, and returns its status. If the device may lack
  /// memory, synchronizes, releases the cached memory and calls once more. Throws sdk::Failure if
  /// the stream cannot be synchronized, as during a capture. REQUIRES: the work may run twice.
  template <class Call>
  auto submit_by_library(const Call& call) const {
    const auto status = call();
    if (!api::may_lack_memory(status)) return status;
    synchronize();
    device_->release_cached_memory();
    return call();
  }

 private:
  std::shared_ptr<const Device> device_;
  api::StreamHandle handle_ = nullptr;
  StreamWaiter* waiter_ = nullptr;
};

}  // namespace kiln::cuda
