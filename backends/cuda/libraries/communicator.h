// NCCL's communicator of one group: moves bytes between the devices of its ranks.
#pragma once

#include "backends/cuda/api/open_nccl.h"
#include "backends/cuda/device/stream.h"
#include "backends/cuda/libraries/host_groups.h"

#include <atomic>
#include <chrono>

namespace kiln::cuda {

/// Pauses of a thread that polls, from none to a millisecond.
class PollPause {
 public:
  explicit PollPause(std::chrono::milliseconds limit);
  /// Throws sdk::Failure of DEADLINE_EXCEEDED after the limit.
  void pause();

 private:
  std::chrono::milliseconds limit_;
  std::chrono::steady_clock::time_point begin_;
  int polls_ = 0;
};

/// No function waits for other ranks in a call of the library: its communicators do not block, and
/// are polled. One thread at a time. All functions but abort() and the destructor throw
/// sdk::Failure and REQUIRE a ScopedContext of the thread, which captures no stream.
class Communicator {
 public:
  /// Joins the ranks that have the same id; all ranks of the group do.
  Communicator(std::shared_ptr<const api::Nccl> library, std::shared_ptr<const Device> device,
               const RankPlace& place, const api::NcclUniqueId& id);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  const RankPlace& place() const { return place_; }

  /// Queues transfers of all ranks, with equal numbers of bytes. `to` gets what each rank sends to
  /// this one, in rank order; `from` has what this one sends to each.
  void all_to_all(api::DeviceAddress from, api::DeviceAddress to, std::int64_t bytes,
                  const Stream& stream);
  /// `to` gets `from` of each rank, which may be this rank's part of `to`.
  void all_gather(api::DeviceAddress from, api::DeviceAddress to, std::int64_t bytes,
                  const Stream& stream);
  /// In place.
  void broadcast(api::DeviceAddress data, std::int64_t bytes, std::int64_t root,
                 const Stream& stream);

  /// Throws for an error of any rank that the library has noticed.
  void check() const;
  /// Ends what is queued. REQUIRES: nothing is queued afterwards.
  void abort() noexcept;

 private:
  template <class Queue>
  void run(const char* action, const Queue& queue);
  void wait_until_ready(const char* action) const;
  void require(api::NcclStatus status, const char* action) const;

  std::shared_ptr<const api::Nccl> library_;
  std::shared_ptr<const Device> device_;
  RankPlace place_;
  api::NcclComm comm_ = nullptr;  // null: aborted
};

}  // namespace kiln::cuda
