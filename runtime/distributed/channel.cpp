// Polls transfers: quickly at first, then with sleeps, as other ranks may need this processor. A
// yield may last for as long as others compute, so that there is none while the process waits and
// each rank has a processor of its own.
#include "runtime/distributed/channel.h"

#include "core/types/text.h"
#include "runtime/distributed/absent_ranks.h"
#include "runtime/distributed/protocol.h"
#include "runtime/host/log.h"

#include <algorithm>
#include <new>
#include <thread>

namespace kiln::runtime::distributed {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// The time for which polls follow each other without sleeps: short, as on a machine with more
/// ranks than processors each poll takes time of another rank. Libraries move bytes in shared
/// memory only while they are polled, so that each sleep delays a transfer: the time of a gigabyte
/// a second is added.
constexpr microseconds quick_time(std::size_t bytes) { return microseconds(200 + bytes / 1000); }
/// The number of polls with sleeps of 50 us between them, a second at least; then of 1 ms.
constexpr int kBriefPolls = 20'000;

double seconds(milliseconds time) { return static_cast<double>(time.count()) / 1000; }

}  // namespace

milliseconds steady_time() {
  return std::chrono::duration_cast<milliseconds>(
      std::chrono::steady_clock::now().time_since_epoch());
}

bool Channel::should_yield() const {
  return !has_processor_ || waits_.waiting_threads.load(std::memory_order_relaxed) == 0;
}

void Channel::wait_until(const std::function<bool()>& is_over, std::size_t bytes) const {
  if (is_over()) return;
  const milliseconds began = waits_.clock();
  milliseconds warning = waits_.limits.warning;
  AbsentRanks absent(world_, place_, is_world() && work_ != nullptr ? transfers_ : 0);
  bool has_told = false, is_quick = true;
  const auto quick_end = std::chrono::steady_clock::now() + quick_time(bytes);
  for (int polls = 0; !is_over(); polls = std::min(polls + 1, kBriefPolls)) {
    const milliseconds waited = waits_.clock() - began;
    if (!has_told && waited >= waits_.limits.warning / 2) {
      absent.tell();
      has_told = true;
    }
    if (waited >= waits_.limits.limit) {
      throw CommunicatorError(text(absent.list(), " did not answer within ",
                                   seconds(waits_.limits.limit), " s (init's time_limit)"));
    }
    if (waited >= warning) {
      log_line(LogLevel::Warning, "distributed",
               text(waits_.title, " has waited ", seconds(waited), " s for ", absent.list(), " of ",
                    place_.size));
      warning *= 2;
    }
    if (is_quick && std::chrono::steady_clock::now() >= quick_end) {
      is_quick = false;
      world_.idle();
    }
    if (is_quick) {
      if (should_yield()) std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(polls < kBriefPolls ? microseconds(50) : microseconds(1'000));
    }
  }
}

void Channel::reserve(std::size_t bytes) {
  const std::size_t least = place_.size * kTextBytes;  // of the texts of an error
  receive_.resize(std::max({receive_.size(), bytes, least}));
  send_.reserve(receive_.size());
}

void Channel::grow(std::size_t bytes) {
  if (receive_.size() >= bytes && send_.capacity() >= bytes) return;
  try {
    reserve(bytes);
  } catch (const std::bad_alloc&) {
    // Other ranks are in this transfer, so the rank cannot go on without it.
    throw CommunicatorError(text("no memory for a transfer of ", bytes, " bytes"));
  }
}

bool Channel::is_idle() {
  if (work_ != nullptr && world_.is_done(work_)) work_ = nullptr;
  return work_ == nullptr;
}

void Channel::start(Transfer transfer) {
  if (transfer.receive == nullptr) transfer.receive = receive_.data();
  ++transfers_;
  work_ = world_.start(group_, transfer);
}

std::span<const std::byte> Channel::run(Transfer transfer, std::size_t receive_bytes) {
  start(transfer);
  wait_until([this] { return is_idle(); }, receive_bytes);
  return {transfer.receive == nullptr ? receive_.data() : transfer.receive, receive_bytes};
}

void Channel::start_all_gather(std::span<const std::byte> part) {
  grow(part.size() * place_.size);
  send_.assign(part.begin(), part.end());
  start({TransferKind::AllGather, 0, send_.data(), nullptr, part.size()});
}

std::optional<std::span<const std::byte>> Channel::take_all_gather() {
  if (work_ == nullptr || !is_idle()) return std::nullopt;
  return std::span<const std::byte>(receive_.data(), send_.size() * place_.size);
}

std::span<const std::byte> Channel::all_gather(std::span<const std::byte> part) {
  start_all_gather(part);
  const std::size_t received = part.size() * place_.size;
  wait_until([this] { return is_idle(); }, received);
  return {receive_.data(), received};
}

std::span<const std::byte> Channel::all_gather(std::span<const std::byte> part, std::byte* to) {
  if (to == nullptr) grow(part.size() * place_.size);
  return run({TransferKind::AllGather, 0, part.data(), to, part.size()}, part.size() * place_.size);
}

std::span<const std::byte> Channel::all_to_all(std::span<const std::byte> parts) {
  grow(parts.size());
  return run({TransferKind::AllToAll, 0, parts.data(), nullptr, parts.size() / place_.size},
             parts.size());
}

std::span<const std::byte> Channel::broadcast(std::size_t root, std::span<const std::byte> bytes) {
  grow(bytes.size());
  if (root == place_.rank) std::copy(bytes.begin(), bytes.end(), receive_.begin());
  return run({TransferKind::Broadcast, root, nullptr, nullptr, bytes.size()}, bytes.size());
}

std::span<const std::byte> Channel::receive_broadcast(std::size_t root, std::size_t bytes) {
  grow(bytes);
  return run({TransferKind::Broadcast, root, nullptr, nullptr, bytes}, bytes);
}

}  // namespace kiln::runtime::distributed
