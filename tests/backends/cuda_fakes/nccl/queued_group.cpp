// Copies what a rank sends to its shared memory, and from there what a rank receives.
#include "tests/backends/cuda_fakes/nccl/queued_group.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace kiln::fake_nccl {
namespace {

constexpr int kLaunchFailed = 719;

using fake_cuda::Range;

bool sends(PartKind kind) { return kind != PartKind::Receive; }

int ranks_of(const Communicator& communicator) { return communicator.world->size.load(); }

}  // namespace

bool QueuedGroup::may_publish() const {
  for (int rank = 0; rank < ranks_of(*communicator_); ++rank) {
    if (communicator_->world->ranks[rank].completed.load() < number_) return false;
  }
  return true;
}

void QueuedGroup::publish() {
  SharedRank& own = communicator_->own();
  std::byte* const memory = communicator_->world->memory_of(communicator_->rank);
  std::uint64_t used = 0;
  own.part_count = 0;
  for (QueuedPart& queued : parts_) {
    Part& part = queued.part;
    part.offset = used;
    const bool is_sent = sends(part.kind) && part.bytes != 0 &&
                         (part.kind != PartKind::Broadcast || part.rank == communicator_->rank);
    if (is_sent) {
      const std::byte* from = Range{queued.send, part.bytes}.host();
      if (from == nullptr) {
        fault_ = "what is sent is not live";
      } else if (used + part.bytes > kSendBytes) {
        fault_ = "more is sent than fits into shared memory";
      } else {
        std::memcpy(memory + used, from, part.bytes);
        used += part.bytes;
      }
    }
    own.parts[own.part_count++] = part;
  }
  own.published.store(number_ + 1);
  is_published_ = true;
}

int QueuedGroup::is_ready() {
  if (communicator_->is_aborted.load()) return 1;
  if (!is_published_ && may_publish()) publish();
  bool is_complete = is_published_;
  for (int rank = 0; rank < ranks_of(*communicator_); ++rank) {
    is_complete = is_complete && communicator_->world->ranks[rank].published.load() > number_;
  }
  if (is_complete) return 1;
  return has_lost_rank(*communicator_->world) ? -1 : 0;
}

const Part* QueuedGroup::sent_by(int rank, std::size_t index) const {
  const SharedRank& other = communicator_->world->ranks[rank];
  const Part& own = parts_[index].part;
  if (own.kind != PartKind::Receive) {
    const bool is_same = index < other.part_count && other.parts[index].kind == own.kind &&
                         other.parts[index].rank == own.rank;
    return is_same ? &other.parts[index] : nullptr;
  }
  // The transfers between two ranks match in their order.
  auto before = std::count_if(
      parts_.begin(), parts_.begin() + static_cast<std::ptrdiff_t>(index),
      [&](const QueuedPart& one) { return one.part.kind == own.kind && one.part.rank == rank; });
  for (std::size_t i = 0; i < other.part_count; ++i) {
    const Part& part = other.parts[i];
    if (part.kind != PartKind::Send || part.rank != communicator_->rank) continue;
    if (before-- == 0) return &part;
  }
  return nullptr;
}

/// Why this group does not match that of a rank.
std::string QueuedGroup::reason_of_rank(int rank) const {
  const SharedRank& other = communicator_->world->ranks[rank];
  const std::string name = " rank " + std::to_string(rank);
  if (other.part_count != parts_.size()) return "another number of operations on" + name;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i].part;
    if (part.kind == PartKind::Send) continue;  // the receiver compares
    if (part.kind == PartKind::Receive && part.rank != rank) continue;
    const Part* const sent = sent_by(rank, i);
    if (sent == nullptr) return "another operation on" + name;
    if (sent->bytes != part.bytes) return "another number of bytes on" + name;
  }
  return "";
}

std::string QueuedGroup::reason_of_memory(const QueuedPart& queued) const {
  const Part& part = queued.part;
  if (part.kind == PartKind::Send || part.bytes == 0) return "";
  const bool is_gather = part.kind == PartKind::AllGather;
  const auto ranks = static_cast<std::uint64_t>(ranks_of(*communicator_));
  const Range to{queued.receive, part.bytes * (is_gather ? ranks : 1)};
  if (to.host() == nullptr) return "what is received has no live memory";
  const auto own = static_cast<std::uint64_t>(communicator_->rank);
  const std::uint64_t in_place = to.begin + (is_gather ? own * part.bytes : 0);
  for (const QueuedPart& other : parts_) {
    if (&other == &queued && other.send == in_place) continue;
    const Range sent{other.send, other.part.bytes};
    if (other.send != 0 && sent.bytes != 0 && sent.overlaps(to)) return "buffers overlap";
  }
  return "";
}

std::string QueuedGroup::reason_to_reject() {
  if (!fault_.empty()) return fault_;
  for (const QueuedPart& part : parts_) {
    const std::string reason = reason_of_memory(part);
    if (!reason.empty()) return reason;
  }
  for (int rank = 0; rank < ranks_of(*communicator_); ++rank) {
    const std::string reason = reason_of_rank(rank);
    if (!reason.empty()) return reason;
  }
  return "";
}

void QueuedGroup::receive(const QueuedPart& queued) {
  const Part& part = queued.part;
  if (part.kind == PartKind::Send || part.bytes == 0) return;
  const auto index = static_cast<std::size_t>(&queued - parts_.data());
  const auto copy = [&](int rank, std::uint64_t offset) {
    std::memcpy(Range{queued.receive + offset, part.bytes}.host(),
                communicator_->world->memory_of(rank) + sent_by(rank, index)->offset, part.bytes);
  };
  if (part.kind != PartKind::AllGather) return copy(part.rank, 0);
  for (int rank = 0; rank < ranks_of(*communicator_); ++rank) {
    copy(rank, static_cast<std::uint64_t>(rank) * part.bytes);
  }
}

int QueuedGroup::run() {
  ++communicator_->completed;
  if (communicator_->is_aborted.load()) return 0;
  const std::string reason = reason_to_reject();
  if (reason.empty()) {
    for (const QueuedPart& part : parts_) receive(part);
  } else {
    std::fprintf(stderr, "fake NCCL: rank %d: %s\n", communicator_->rank, reason.c_str());
  }
  communicator_->own().completed.store(number_ + 1);
  return reason.empty() ? 0 : kLaunchFailed;
}

}  // namespace kiln::fake_nccl
