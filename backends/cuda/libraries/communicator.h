// NCCL's communicator of one group: moves bytes between the devices of its ranks.
#pragma once

#include "backends/cuda/api/open_nccl.h"
#include "backends/cuda/device/stream.h"
#include "backends/cuda/libraries/host_groups.h"

#include <chrono>

namespace kiln::cuda {

/// Communicators of the library do not block: functions poll them while other ranks have to answer.
/// One thread at a time. All functions but abort() and the destructor throw sdk::Failure and
/// REQUIRE a ScopedContext of the thread, which captures no stream.
class Communicator {
 public:
  /// Begins to join the ranks that have the same id; all ranks of the group do. `host` outlives the
  /// object.
  Communicator(std::shared_ptr<const api::Nccl> library, std::shared_ptr<const Device> device,
               const sdk::Host& host, const RankPlace& place, const api::NcclUniqueId& id);
  /// Aborts: ncclCommDestroy may wait for the other ranks of the machine. REQUIRES: the transfers
  /// of all ranks are over, or the group is broken.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  const RankPlace& place() const { return place_; }

  /// Waits until all ranks have joined, for half the time limit, so that the host can still tell
  /// all ranks of a failure. Nothing may be queued before.
  void wait_until_joined() const;

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

  /// Throws for an error that the library has noticed. Between machines it notices that a rank has
  /// ended; within one it does not (https://github.com/NVIDIA/nccl/issues/279).
  void check() const;
  /// Ends what is queued. REQUIRES: nothing is queued afterwards.
  void abort() noexcept;

 private:
  template <class Queue>
  void run(const char* action, const Queue& queue);
  void wait_until_ready(const char* action, std::chrono::milliseconds limit) const;
  void require(api::NcclStatus status, const char* action) const;

  std::shared_ptr<const api::Nccl> library_;
  std::shared_ptr<const Device> device_;
  const sdk::Host& host_;
  RankPlace place_;
  api::NcclComm comm_ = nullptr;  // null: aborted
};

}  // namespace kiln::cuda
