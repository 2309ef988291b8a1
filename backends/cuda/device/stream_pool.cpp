// A stack of idle streams.
#include "backends/cuda/device/stream_pool.h"

#include <utility>

namespace kiln::cuda {

std::unique_ptr<StagedStream> StreamPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<StagedStream> stream = std::move(idle_.back());
      idle_.pop_back();
      return stream;
    }
  }
  auto made = std::make_unique<StagedStream>(device_);
  const std::lock_guard lock(mutex_);
  idle_.reserve(made_ + 1);
  ++made_;
  return made;
}

void StreamPool::give_back(std::unique_ptr<StagedStream> stream) noexcept {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(stream));
}

StreamLease::~StreamLease() {
  if (std::uncaught_exceptions() > exceptions_) stream_->staging.abandon();
  pool_.give_back(std::move(stream_));
}

}  // namespace kiln::cuda
