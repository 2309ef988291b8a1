// Streams with memory of their own, leased to one call or copy at a time.
#pragma once

#include "backends/cuda/device/stream_arena.h"
#include "backends/cuda/device/staging.h"

#include <exception>
#include <mutex>
#include <vector>

namespace kiln::cuda {

/// A stream with its arena and its page-locked memory.
struct StagedStream {
  explicit StagedStream(std::shared_ptr<MemoryPool> memory)
      : arena(memory), stream(memory->device()), staging(stream) {}

  StreamArena arena;  // temporaries of the call that has the stream
  Stream stream;
  Staging staging;  // of the stream
};

/// Creates a stream when all others are leased, and keeps each until the pool is destroyed. Frees
/// the parts of arenas that no call needs when an allocation fails (IdleMemory). Thread-safe.
class StreamPool final : public IdleMemory {
 public:
  explicit StreamPool(std::shared_ptr<MemoryPool> memory);
  /// REQUIRES: no lease is left.
  ~StreamPool();
  StreamPool(const StreamPool&) = delete;
  StreamPool& operator=(const StreamPool&) = delete;

  void free_idle() noexcept override;

 private:
  friend class StreamLease;

  std::unique_ptr<StagedStream> take(const StagedStream* wanted);
  void give_back(std::unique_ptr<StagedStream> stream) noexcept;

  std::shared_ptr<MemoryPool> memory_;
  std::mutex mutex_;
  std::vector<StagedStream*> all_;
  std::vector<std::unique_ptr<StagedStream>> idle_;  // has room for all that were made
};

/// A stream without queued work, for the life of the lease. REQUIRES: the pool and a ScopedContext
/// of the thread outlive the lease.
class StreamLease {
 public:
  /// The stream `wanted` if that one is idle, else any. Throws sdk::Failure.
  explicit StreamLease(StreamPool& pool, const StagedStream* wanted = nullptr)
      : pool_(pool), stream_(pool.take(wanted)) {}
  /// Calls Staging::abandon() when an exception leaves the scope; a call that succeeded has
  /// synchronized.
  ~StreamLease();
  StreamLease(const StreamLease&) = delete;
  StreamLease& operator=(const StreamLease&) = delete;

  Stream& stream() { return stream_->stream; }
  Staging& staging() { return stream_->staging; }
  StreamArena& arena() { return stream_->arena; }
  const StagedStream* id() const { return stream_.get(); }

 private:
  StreamPool& pool_;
  std::unique_ptr<StagedStream> stream_;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace kiln::cuda
