// The state that the groups of a process share: one communication thread and one lock, so that a
// rank takes part in one operation at a time.
#pragma once

#include "core/types/fork.h"
#include "core/types/text.h"
#include "runtime/distributed/communication_thread.h"
#include "runtime/distributed/operation.h"
#include "runtime/distributed/rank_sums.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace kiln::runtime::distributed {

/// A group as its process sees it.
struct Part {
  Channel* channel;
  RankSums sums;
  std::int64_t number;  // 0 for the world; the same on all ranks of the part
  std::vector<std::byte> packed = {};  // working memory of its collectives
  std::vector<std::vector<std::byte>> given_up = {};  // memory of transfers that may still run
  std::uint64_t calls = 0;  // that were begun
  std::string end = {};  // why it cannot be used; empty: it can
  std::optional<std::size_t> end_rank = {};  // the rank that `end` is about; unset: this one

  std::uint64_t last_difference = 0;  // the last call in which the ranks' operations differed

  /// Takes note of how an operation ended; ends the part if a rank has left.
  void note(const Agreement& agreement) {
    if (agreement.has_differed()) last_difference = calls;
    if (!agreement.has_left()) return;
    end = agreement.error();
    end_rank = agreement.rank();
  }
};

struct Membership {
  inline static constinit std::atomic<std::int64_t> sessions{0};  // of the process

  Membership(const CommunicatorLibrary& library, const CommunicatorOptions& options,
             const WaitLimits& limits, Clock clock)
      : thread(std::make_unique<CommunicationThread>(library, options, limits, std::move(clock))),
        time_limit(limits.limit) {}
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
      if (!part.end.empty()) continue;
      part.end = text("the group is broken since ", operation.call, ": ", reason);
    }
  }
  /// Adds the part of that channel. REQUIRES, here and below: called on the communication thread,
  /// by all ranks of the channel.
  Part& add(Channel& channel, std::int64_t number) {
    return parts.emplace_back(
        Part{.channel = &channel, .sums = RankSums(*thread, channel), .number = number});
  }
  /// The number of the parts that `parent` is divided into: equal on all its ranks, though some may
  /// be in more parts than others, and greater than the numbers of all other parts of these ranks.
  std::int64_t next_number(Channel& parent) {
    const auto all = parent.all_gather(std::as_bytes(std::span(&last_number, 1)));
    for (std::size_t at = 0; at < all.size(); at += sizeof(last_number)) {
      std::int64_t other = 0;
      std::memcpy(&other, all.data() + at, sizeof(other));
      last_number = std::max(last_number, other);
    }
    return ++last_number;
  }

  const std::uint32_t forks = fork_count();
  const std::int64_t session = ++sessions;
  std::unique_ptr<CommunicationThread> thread;
  const std::chrono::milliseconds time_limit;
  ForkMutex mutex;  // held during an operation or a call; guards the rest
  std::atomic<std::thread::id> caller{};  // the thread that is in a call
  std::deque<Part> parts;  // the world first, the others in the order of split
  std::int64_t last_number = 0;  // of the parts
  std::string broken;  // why; empty: the groups can be used
  bool has_left = false;  // this process, all of them
};

}  // namespace kiln::runtime::distributed
