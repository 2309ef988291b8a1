// Creates streams with CU_STREAM_NON_BLOCKING.
#include "backends/cuda/device/stream.h"

namespace kiln::cuda {

Stream::Stream(std::shared_ptr<const Device> device) : device_(std::move(device)) {
  const api::Status status = device_->allocate(
      [&] { return device_->driver().stream_create(&handle_, api::StreamFlags::NonBlocking); });
  device_->check(status, "create a stream");
}

Stream::~Stream() {
  if (!device_->is_usable()) return;
  try {
    const ScopedContext context(*device_);
    device_->driver().stream_destroy(handle_);
  } catch (...) {
    // The device has just ended: the driver frees the stream with the context.
  }
}

void Stream::synchronize() const {
  if (waiter_ != nullptr) waiter_->wait(*this);
  const api::Driver& driver = device_->driver();
  api::Status status = driver.stream_synchronize(handle_);
  if (status != api::Status::Success && !api::ends_device(status)) {
    status = driver.stream_synchronize(handle_);
  }
  device_->check(status, "run work on the device");
}

}  // namespace kiln::cuda
