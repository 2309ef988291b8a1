// A group of ranks that agree on each operation before and after it (protocol.h): the operation is
// complete on all ranks, or an error on all of them that says why.
#pragma once

#include "core/types/fork.h"
#include "runtime/distributed/communication_thread.h"
#include "runtime/distributed/operation.h"
#include "runtime/distributed/rank_sums.h"

#include <kiln/where.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace kiln::runtime::distributed {

// membership.h
struct Membership;
struct Part;

class Group {
 public:
  /// The part that runs on the communication thread once the ranks agree. Another exception than
  /// CommunicatorError must leave no transfer out that other ranks are in.
  using Steps = std::function<void(Channel&)>;

  /// Joins the group of all ranks. Throws CommunicatorError.
  Group(const CommunicatorLibrary& library, const CommunicatorOptions& options,
        const WaitLimits& limits, Clock clock = steady_time);
  /// The group of a process that is the only rank: operations run no steps.
  Group();
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  const Place& place() const { return place_; }

  /// Agrees on the operation, runs `steps`, and agrees that no rank has failed. A failure of this
  /// rank is thrown as it is; DistributedError for that of another rank, for operations that
  /// differ, and for a group that is broken or that a rank has left; BackendError in a child of
  /// fork(). Thread-safe: one operation at a time.
  void run(const Operation& operation, const Steps& steps);

  /// The group of the ranks with this color, ordered by key, then by rank. Throws as run().
  std::unique_ptr<Group> split(const Operation& operation, std::int64_t color, std::int64_t key);

  /// The reductions over the group. Used on the communication thread.
  RankSums& sums();

  /// How long a rank waits for others. REQUIRES: several ranks, here and below.
  std::chrono::milliseconds time_limit() const;
  /// Numbers the worlds that this process has joined.
  std::int64_t session() const;

  /// The number of this group, which is the same on all its ranks: 0 for all ranks of the process's
  /// world, then in the order of split.
  std::int64_t number() const;
  /// The group with that number; null if there is none.
  std::shared_ptr<Group> numbered(std::int64_t number) const;

  /// Makes the groups of the process unusable, since the ranks may differ from now on.
  void break_up(const Operation& operation, const std::string& reason);

  /// Leaves the world and all parts; `reason` is what other ranks get as their error. A broken
  /// group is left as it is. Later operations are errors.
  void leave(const std::string& reason) noexcept;
  /// Whether the caller runs on the communication thread, where no operation can be waited for.
  bool is_on_communication_thread() const;
  /// The number of the last operation in which the ranks called different ones, so that each of
  /// them has thrown; 0 for none. `next`: what the caller will run; BackendError and ValueError, as
  /// run(), where it must not.
  std::uint64_t last_difference(const Operation& next) const;
  /// Ends the processes of all ranks if the group is broken.
  void abort_if_broken() noexcept;

  /// REQUIRES: several ranks.
  Part& part() const { return *part_; }

 private:
  friend class GroupCall;
  Group(std::shared_ptr<Membership> membership, Part* part);
  /// BackendError in a child of fork(); ValueError within a call of this thread that is one of the
  /// group or updates variables: calls of groups wait for such calls, so these must not wait for
  /// them.
  void require_usable(const Operation& operation) const;
  /// DistributedError for a group that is broken or left. REQUIRES: the lock.
  void require_whole(const Operation& operation) const;
  /// Waits for a job of the communication thread; DistributedError if it breaks the group.
  void wait(const Operation& operation, std::uint64_t job);

  std::shared_ptr<Membership> membership_;  // null: the only rank
  Part* part_ = nullptr;  // of the membership
  Place place_;
};

}  // namespace kiln::runtime::distributed
