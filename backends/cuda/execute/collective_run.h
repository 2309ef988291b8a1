// The collectives of one call on its stream, from the agreement of the ranks on the call to its
// end: all of them run on all ranks, or the group is broken.
#pragma once

#include "backends/cuda/execute/bind_collective.h"
#include "backends/cuda/execute/open_transfers.h"
#include "backends/cuda/libraries/communicators.h"

#include <span>
#include <vector>

namespace kiln::cuda {

/// A tensor of a call.
struct TensorBytes {
  api::DeviceAddress address = 0;
  std::int64_t bytes = 0;
};

/// One thread. REQUIRES of all functions: a ScopedContext of the thread, which captures no stream.
class CollectiveRun final : public StreamWaiter {
 public:
  struct Call {
    std::span<const DeviceCollective> collectives;  // in their order
    Communicators& communicators;
    const sdk::Host& host;
    void* host_call_context = nullptr;
    Stream& stream;
    api::DeviceAddress memory = 0;  // DevicePlan::collective_bytes
    api::DeviceAddress call_block = 0;
  };

  explicit CollectiveRun(const Call& call)
      : call_(call), groups_(call.host, call.host_call_context), transfers_(call.stream) {}
  ~CollectiveRun();
  CollectiveRun(const CollectiveRun&) = delete;
  CollectiveRun& operator=(const CollectiveRun&) = delete;

  /// Queues the collective. The first one opens the call, and joins the ranks of groups that are
  /// new. Throws sdk::Failure; if the ranks cannot go on together, the call is then over.
  void start(std::size_t number, std::span<const TensorBytes> operands);
  /// Queues copies of its results.
  void copy_results(std::size_t number, std::span<const TensorBytes> results);
  /// After a failure: queues and waits for the collectives that are left, of zeros, as other ranks
  /// are in them.
  void drain() noexcept;

  /// Returns when the stream has no work, or its work has failed. Polls the ranks meanwhile; breaks
  /// up the group and throws sdk::Failure if NCCL has an error or one transfer stays open for
  /// init's time_limit. Work of this rank does not count.
  void wait(const Stream& stream) override;

 private:
  enum class State { NotOpened, Open, Over };

  void open();
  void join();
  void require_equal_ranks() const;
  Communicator& communicator_of(const DeviceCollective& one) const;
  void pack(const DeviceCollective& one, std::span<const TensorBytes> operands);
  void queue(const DeviceCollective& one);
  void queue_transfers(const DeviceCollective& one);
  /// Calls `queue`, which queues one transfer.
  template <class Queue>
  void transfer(const DeviceCollective& one, const Queue& queue);
  void combine(const DeviceCollective& one, api::DeviceAddress result);
  void copy(api::DeviceAddress to, api::DeviceAddress from, std::int64_t bytes) const;
  void launch(const BoundGraphKernel& kernel, std::span<const api::DeviceAddress> arguments,
              api::DeviceAddress result);
  [[noreturn]] void break_up(const std::string& reason);
  api::DeviceAddress buffer_of(const DeviceCollective& one) const;
  /// Where the rank's own operand is in the buffer.
  api::DeviceAddress operand_of(const DeviceCollective& one) const;

  Call call_;
  HostGroups groups_;
  State state_ = State::NotOpened;
  OpenTransfers transfers_;
  std::map<std::int64_t, std::shared_ptr<Communicator>> communicators_;  // by group
  std::size_t next_ = 0;  // the number of the collective that is to be queued
  LaunchMemory launch_memory_;
};

}  // namespace kiln::cuda
