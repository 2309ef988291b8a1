// The state that the groups of a process share: one communication thread and one lock, so that a
// rank takes part in one operation at a time.
#pragma once

#include "core/types/fork.h"
#include "core/types/text.h"
#include "runtime/distributed/communication_thread.h"
#include "runtime/distributed/operation.h"
#include "runtime/distributed/rank_sums.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace kiln::runtime::distributed {

/// A group as its process sees it.
struct Part {
  Channel* channel;
  RankSums sums;
  std::int64_t number;  // among the parts
  std::vector<std::byte> packed = {};  // working memory of its collectives
  std::vector<std::vector<std::byte>> given_up = {};  // memory of transfers that may still run
  std::uint64_t calls = 0;  // that were begun
  std::string end = {};  // why it cannot be used; empty: it can
  std::optional<std::size_t> end_rank = {};  // the rank that `end` is about; unset: this one

  /// Ends it if a rank has left.
  void note_leave(const Agreement& agreement) {
    if (!agreement.has_left()) return;
    end = agreement.error();
    end_rank = agreement.rank();
  }
};

struct Membership {
  Membership(const CommunicatorLibrary& library, const CommunicatorOptions& options,
             const WaitLimits& limits, Clock clock)
      : thread(std::make_unique<CommunicationThread>(library, options, limits, std::move(clock))) {}
  ~Membership() {
    if (is_of_parent()) static_cast<void>(thread.release());  // it does not exist in a child
  }
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  bool is_of_parent() const { return fork_count() != forks; }
  /// Makes the groups unusable, as a transfer may still run.
  void mark_broken(const Operation& operation, const std::string& reason) {
    broken = reason;
    for (Part& part : parts) {
      if (part.end.empty())
        part.end = text("the group is broken since ", operation.call, ": ", reason);
    }
  }
  /// Adds the part of that channel; called by a job of all its ranks.
  Part& add(Channel& channel) {
    return parts.emplace_back(Part{.channel = &channel,
                                   .sums = RankSums(*thread, channel),
                                   .number = static_cast<std::int64_t>(parts.size())});
  }

  const std::uint32_t forks = fork_count();
  std::unique_ptr<CommunicationThread> thread;
  ForkMutex mutex;  // held during an operation or a call; guards the rest
  std::atomic<std::thread::id> caller{};  // the thread that is in a call
  std::deque<Part> parts;  // the world first, the others in the order of split
  std::string broken;  // why; empty: the groups can be used
  bool has_left = false;  // this process, all of them
};

}  // namespace kiln::runtime::distributed
