// The operations between ncclGroupStart and ncclGroupEnd, as one operation of a stream.
#pragma once

#include "tests/backends/cuda_fakes/library_work.h"
#include "tests/backends/cuda_fakes/nccl/shared_world.h"

#include <string>
#include <vector>

namespace kiln::fake_nccl {

/// A rank's communicator.
struct Communicator {
  std::shared_ptr<SharedWorld> world;
  int rank = 0;
  std::uint64_t groups = 0;  // that were queued
  std::atomic<std::uint64_t> completed{0};
  std::atomic<bool> is_aborted{false};

  SharedRank& own() const { return world->ranks[rank]; }
};

struct QueuedPart {
  Part part;
  std::uint64_t send = 0, receive = 0;  // device addresses; 0: none
};

class QueuedGroup {
 public:
  explicit QueuedGroup(std::shared_ptr<Communicator> communicator)
      : communicator_(std::move(communicator)), number_(communicator_->groups++) {}

  void add(const QueuedPart& part) { parts_.push_back(part); }

  /// As fake_cuda_enqueue_when_ready wants it: publishes the group when its turn has come; ready
  /// when all ranks have done so. Of an aborted communicator, it is ready and does nothing.
  int is_ready();
  /// Returns a CUresult: LaunchFailed, with the reason on standard error, where the ranks' groups
  /// do not match, memory is not live, or buffers overlap other than in place.
  int run();

 private:
  bool may_publish() const;
  void publish();
  std::string reason_to_reject();
  std::string reason_of_memory(const QueuedPart& part) const;
  std::string reason_of_rank(int rank) const;
  void receive(const QueuedPart& part);
  /// The bytes that a rank sends by the part that corresponds to this one; null if there are none.
  const Part* sent_by(int rank, std::size_t index) const;

  std::shared_ptr<Communicator> communicator_;
  std::uint64_t number_;
  std::vector<QueuedPart> parts_;
  bool is_published_ = false;
  std::string fault_;  // found while it was published
};

}  // namespace kiln::fake_nccl
