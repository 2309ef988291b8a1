// One group of ranks as its transfers: each is started, waited for, and given up after a time
// limit. Used on the communication thread alone.
#pragma once

#include "runtime/distributed/communicator.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace kiln::runtime::distributed {

/// Larger tensors and files are transferred in chunks of that many bytes, which bounds the memory
/// of transfers.
inline constexpr std::size_t kTransferChunk = std::size_t{32} << 20;

/// How long a rank waits for others.
struct WaitLimits {
  std::chrono::milliseconds warning{60'000};  // until the first log line; the next follow at 2, 4..
  std::chrono::milliseconds limit{1'800'000};  // until it gives up
};

/// The time since any fixed instant. Tests give one that is not the machine's.
using Clock = std::function<std::chrono::milliseconds()>;
std::chrono::milliseconds steady_time();

/// The limits of a process's waits, and the operation and threads that they belong to.
struct Waits {
  WaitLimits limits = {};
  Clock clock = steady_time;
  std::string title = {};  // of the operation in log lines: "train (train.cpp:12)"
  /// Threads of the process that compute nothing until the communication thread has run a job.
  std::atomic<std::uint32_t> waiting_threads = 0;
};

class Channel {
 public:
  /// REQUIRES: the arguments outlive the object.
  Channel(const World& world, kiln_comm* group, const Waits& waits)
      : world_(world),
        group_(group),
        waits_(waits),
        place_(world.place_of(group)),
        has_processor_(std::thread::hardware_concurrency() >=
                       world.place_of(world.group()).local_size) {}
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  const Place& place() const { return place_; }

  /// Makes room for transfers that receive up to that many bytes, so that they cannot fail for want
  /// of memory. Throws std::bad_alloc.
  void reserve(std::size_t bytes);

  /// The parts of all ranks, in their order. The memory is the channel's, valid until the next
  /// transfer: a transfer that is given up may write it later. Throws CommunicatorError, here and
  /// below. REQUIRES: equal sizes on all ranks.
  std::span<const std::byte> all_gather(std::span<const std::byte> part);
  /// The same from the caller's memory, and to it unless `to` is null: memory that lives until the
  /// transfer is over, even if it is given up. REQUIRES: reserve() of what is received.
  std::span<const std::byte> all_gather(std::span<const std::byte> part, std::byte* to);
  /// Sends part i of `parts`, which divide it equally, to rank i; returns those that came. `parts`
  /// lives as above.
  std::span<const std::byte> all_to_all(std::span<const std::byte> parts);
  /// The bytes of `root`, given on all ranks as memory of their number, which is read on the root.
  std::span<const std::byte> broadcast(std::size_t root, std::span<const std::byte> bytes);
  /// broadcast() of that many bytes on a rank that is not the root.
  std::span<const std::byte> receive_broadcast(std::size_t root, std::size_t bytes);

  /// Starts an all_gather() without waiting for other ranks. REQUIRES: no transfer of this channel
  /// is in progress.
  void start_all_gather(std::span<const std::byte> part);
  /// The parts of all ranks, once, if the all_gather() that was started is over; nothing while it
  /// is in progress, and if none was started.
  std::optional<std::span<const std::byte>> take_all_gather();
  /// Waits until `is_over`, which is called again and again and may ask several channels. The
  /// limits and log lines are those of a transfer of this channel. `bytes`: that are received.
  void wait_until(const std::function<bool()>& is_over, std::size_t bytes) const;

  /// The group of the ranks with this color, ordered by key, then by rank.
  kiln_comm* split(std::int64_t color, std::int64_t key) const {
    return world_.split(group_, color, key);
  }

 private:
  void grow(std::size_t bytes);
  /// Receives to the channel's memory if the transfer has no other.
  void start(Transfer transfer);
  std::span<const std::byte> run(Transfer transfer, std::size_t receive_bytes);
  /// Whether no transfer is in progress, after a test of the one that was.
  bool is_idle();
  /// Whether polls should leave the processor to other threads of the host in between.
  bool should_yield() const;
  bool is_world() const { return group_ == world_.group(); }

  const World& world_;
  kiln_comm* group_;
  const Waits& waits_;
  const Place place_;
  const bool has_processor_;  // the host has one for each of its ranks
  std::uint64_t transfers_ = 0;  // that were started
  kiln_comm_work* work_ = nullptr;  // of the last of them; null: it is over
  std::vector<std::byte> send_, receive_;
};

}  // namespace kiln::runtime::distributed
