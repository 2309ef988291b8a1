// Streams with page-locked memory, leased to one call or copy at a time.
#pragma once

#include "backends/cuda/device/staging.h"

#include <exception>
#include <mutex>
#include <vector>

namespace kiln::cuda {

struct StagedStream {
  explicit StagedStream(std::shared_ptr<const Device> device)
      : stream(std::move(device)), staging(stream) {}

  Stream stream;
  Staging staging;  // of the stream
};

/// Creates a stream when all others are leased, and keeps each until the pool is destroyed.
/// Thread-safe.
class StreamPool {
 public:
  explicit StreamPool(std::shared_ptr<const Device> device) : device_(std::move(device)) {}

 private:
  friend class StreamLease;

  std::unique_ptr<StagedStream> take();
  void give_back(std::unique_ptr<StagedStream> stream) noexcept;

  std::shared_ptr<const Device> device_;
  std::mutex mutex_;
  std::size_t made_ = 0;
  std::vector<std::unique_ptr<StagedStream>> idle_;  // has room for all that were made
};

/// A stream without queued work, for the life of the lease. REQUIRES: the pool and a ScopedContext
/// of the thread outlive the lease.
class StreamLease {
 public:
  /// Throws sdk::Failure.
  explicit StreamLease(StreamPool& pool) : pool_(pool), stream_(pool.take()) {}
  /// Calls Staging::abandon() when an exception leaves the scope; a call that succeeded has
  /// synchronized.
  ~StreamLease();
  StreamLease(const StreamLease&) = delete;
  StreamLease& operator=(const StreamLease&) = delete;

  Stream& stream() { return stream_->stream; }
  Staging& staging() { return stream_->staging; }

 private:
  StreamPool& pool_;
  std::unique_ptr<StagedStream> stream_;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace kiln::cuda
