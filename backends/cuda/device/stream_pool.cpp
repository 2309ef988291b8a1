// Keeps idle streams on a stack: the last one recycled is the next one acquired.
#include "backends/cuda/device/stream_pool.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace kiln::cuda {

StreamPool::StreamPool(std::shared_ptr<MemoryPool> memory) : memory_(std::move(memory)) {
  memory_->set_idle_memory(this);
}

StreamPool::~StreamPool() { memory_->set_idle_memory(nullptr); }

std::unique_ptr<StagedStream> StreamPool::acquire(const StagedStream* wanted) {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto found = std::find_if(idle_.begin(), idle_.end(),
                                [&](const auto& one) { return one.get() == wanted; });
      if (found == idle_.end()) found = std::prev(idle_.end());
      std::unique_ptr<StagedStream> stream = std::move(*found);
      idle_.erase(found);
      return stream;
    }
  }
  auto stream = std::make_unique<StagedStream>(memory_);
  const std::lock_guard lock(mutex_);
  idle_.reserve(all_.size() + 1);
  all_.push_back(stream.get());
  stream->number = all_.size();
  return stream;
}

void StreamPool::free_idle() noexcept {
  const std::lock_guard lock(mutex_);
  for (StagedStream* stream : all_) stream->arena.release_unused();
}

void StreamPool::recycle(std::unique_ptr<StagedStream> stream) noexcept {
  stream->arena.finish();
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(stream));
}

StreamLease::~StreamLease() {
  if (std::uncaught_exceptions() > exceptions_) stream_->staging.abandon();
  pool_.recycle(std::move(stream_));
}

}  // namespace kiln::cuda
