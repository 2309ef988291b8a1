// Leases streams, each with an arena and staging memory, to one call or copy at a time.
#pragma once

#include "backends/cuda/device/stream_arena.h"
#include "backends/cuda/device/staging.h"

#include <exception>
#include <mutex>
#include <vector>

namespace kiln::cuda {

/// A stream, the arena of the call that leases it, and its staging memory.
struct StagedStream {
  explicit StagedStream(std::shared_ptr<MemoryPool> memory)
      : arena(memory), stream(memory->device()), staging(stream) {}

  StreamArena arena;
  Stream stream;
  Staging staging;
  std::size_t number = 0;  // in its pool, from 1
};

/// Creates a stream when all others are leased, and destroys them with the pool. Returns the parts
/// of arenas that no call uses to the device when an allocation fails (IdleMemory). Thread-safe.
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

  std::unique_ptr<StagedStream> acquire(const StagedStream* wanted);
  void recycle(std::unique_ptr<StagedStream> stream) noexcept;

  std::shared_ptr<MemoryPool> memory_;
  std::mutex mutex_;
  std::vector<StagedStream*> all_;
  std::vector<std::unique_ptr<StagedStream>> idle_;  // capacity for all_: recycle() is noexcept
};

/// Holds a stream without queued work until its destruction. REQUIRES: the pool and a ScopedContext
/// of the thread outlive the lease.
class StreamLease {
 public:
  /// Leases `wanted` if it is idle, else any stream. Throws sdk::Failure.
  explicit StreamLease(StreamPool& pool, const StagedStream* wanted = nullptr)
      : pool_(pool), stream_(pool.acquire(wanted)) {}
  /// Calls Staging::abandon() if an exception leaves the scope, so that no queued work outlives the
  /// lease. A call that succeeds has synchronized.
  ~StreamLease();
  StreamLease(const StreamLease&) = delete;
  StreamLease& operator=(const StreamLease&) = delete;

  Stream& stream() { return stream_->stream; }
  Staging& staging() { return stream_->staging; }
  StreamArena& arena() { return stream_->arena; }
  const StagedStream* id() const { return stream_.get(); }
  std::size_t number() const { return stream_->number; }

 private:
  StreamPool& pool_;
  std::unique_ptr<StagedStream> stream_;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace kiln::cuda
