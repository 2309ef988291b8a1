// Starts transfers, and ends them when a test finds them due.
#include "tests/distributed/fake/plugin/checks.h"
#include "tests/distributed/fake/plugin/communicator.h"

#include <algorithm>
#include <csignal>
#include <cstring>

namespace kiln::fake {
namespace {

std::string name_of(std::uint64_t number) { return "transfer " + std::to_string(number); }

}  // namespace

kiln_comm_work* Communicator::start(const kiln_comm& comm, const kiln_comm_transfer& transfer) {
  const std::uint32_t size = group_of(comm).size;
  check_transfer(transfer, size);
  const TransferBuffers buffers = buffers_of(transfer, size, comm.member);
  require_apart(buffers);
  const std::uint64_t number = entry().transfers;
  if (has_fault(Fault::Kind::FailStart, number)) {
    throw Failure(KILN_CODE_INTERNAL, "start: injected failure of " + name_of(number));
  }
  const Timing timing = timing_of(world_.settings.seed, rank_, number);
  Posting posting = posting_of_transfer(comm, transfer, timing);
  posting.send = copy(comm, buffers.sent);
  kiln_comm_work work{.comm = &comm, .transfer = transfer, .number = number};
  work.polls = has_fault(Fault::Kind::Delay, number) ? entry().fault.polls : timing.polls;
  {
    Locked lock(world_);
    work.index = post(comm, posting);
    count(comm, posting);
  }
  if (has_fault(Fault::Kind::Kill, number)) ::raise(SIGKILL);
  work.guard = std::make_unique<GuardedBuffers>(buffers, area_.at(posting.send));
  in_progress_.push_back(&works_.emplace_back(std::move(work)));
  return in_progress_.back();
}

bool Communicator::test(kiln_comm_work& work) {
  if (work.guard == nullptr) throw Misuse("test of a transfer that is over");
  if (!is_due(work)) return false;
  end_guard(work);
  receive(work);
  std::erase(in_progress_, &work);
  for (const kiln_comm_work* other : in_progress_) other->guard->protect();
  Locked lock(world_);
  finish(*work.comm, work.index);
  entry().is_idle = false;
  return true;
}

void Communicator::require_apart(const TransferBuffers& buffers) {
  const std::string own = overlap({buffers.sent, {}}, {{}, buffers.received});
  if (!own.empty()) throw Misuse("start: " + own);
  for (const kiln_comm_work* other : in_progress_) {
    const std::string text = overlap(buffers, other->guard->buffers());
    if (!text.empty()) {
      throw Misuse("start: " + text + " of " + name_of(other->number) + " in progress");
    }
  }
}

bool Communicator::has_fault(Fault::Kind kind, std::uint64_t number) {
  const Fault& fault = entry().fault;
  return fault.kind == kind && fault.transfer == number;
}

Posting Communicator::posting_of_transfer(const kiln_comm& comm, const kiln_comm_transfer& transfer,
                                          const Timing& timing) {
  const bool is_broadcast = transfer.kind == KILN_COMM_BROADCAST;
  Posting posting{};
  posting.kind = transfer.kind;
  posting.root = is_broadcast ? transfer.root : comm.member;
  posting.bytes = transfer.bytes;
  posting.needs_all = !is_broadcast || timing.needs_all;
  posting.is_lost = has_fault(Fault::Kind::Never, entry().transfers);
  return posting;
}

std::uint64_t Communicator::copy(const kiln_comm& comm, Bytes sent) {
  std::uint64_t offset = 0;
  {
    Locked lock(world_);
    offset = area_.reserve(sent.size(), comm.group, group_of(comm).started[comm.member]);
  }
  std::copy(sent.begin(), sent.end(), area_.at(offset));
  return offset;
}

std::uint64_t Communicator::post(const kiln_comm& comm, const Posting& posting) {
  require_intact();
  Group& group = group_of(comm);
  const std::uint64_t index = group.started[comm.member];
  const std::uint64_t lead = index - oldest_of(group);
  if (lead >= kWindow) {
    throw Failure(KILN_CODE_RESOURCE_EXHAUSTED,
                  "start: " + std::to_string(lead) + " transfers ahead of the slowest rank");
  }
  Posting& own = posting_of(group, comm.member, index) = posting;
  // The root of a broadcast may be ahead of the others, but not until the table is full.
  own.needs_all = own.needs_all || lead >= kWindow / 2;
  group.started[comm.member] = index + 1;
  entry().is_idle = false;
  note_change(world_);
  const std::string text = difference(group, comm.group, comm.member, index);
  if (!text.empty()) break_world(world_, KILN_CODE_INVALID_ARGUMENT, text);
  require_intact();
  return index;
}

void Communicator::count(const kiln_comm& comm, const Posting& posting) {
  ++entry().transfers;
  if (posting.kind == KILN_COMM_BROADCAST && posting.root != comm.member) return;
  const std::uint64_t others = group_of(comm).size - 1;
  entry().messages += others;
  entry().bytes += others * posting.bytes;
}

bool Communicator::is_due(kiln_comm_work& work) {
  Locked lock(world_);
  require_intact();
  if (has_fault(Fault::Kind::FailTest, work.number)) {
    throw Failure(KILN_CODE_INTERNAL, "test: injected failure of " + name_of(work.number));
  }
  if (!is_complete(group_of(*work.comm), work.comm->member, work.index)) return false;
  if (work.polls == 0) return true;
  --work.polls;
  return false;
}

void Communicator::end_guard(kiln_comm_work& work) {
  work.guard->unprotect();
  const std::string text = work.guard->change();
  if (!text.empty()) throw Misuse("test: " + text + " (" + name_of(work.number) + ")");
  work.guard.reset();
}

void Communicator::receive(const kiln_comm_work& work) {
  Group& group = group_of(*work.comm);
  const std::uint64_t bytes = work.transfer.bytes;
  auto* const target = static_cast<std::byte*>(work.transfer.receive);
  const auto part = [&](std::uint32_t member, std::uint64_t offset, std::uint64_t to) {
    const std::uint64_t send = posting_of(group, member, work.index).send;
    const std::byte* const source = world_.send_area(group.members[member]) + send;
    std::copy(source + offset, source + offset + bytes, target + to);
  };
  if (work.transfer.kind == KILN_COMM_BROADCAST) {
    if (work.comm->member != work.transfer.root) part(work.transfer.root, 0, 0);
    return;
  }
  const bool is_all_to_all = work.transfer.kind == KILN_COMM_ALL_TO_ALL;
  const std::uint64_t own = is_all_to_all ? work.comm->member * bytes : 0;
  for (std::uint32_t member = 0; member < group.size; ++member) part(member, own, member * bytes);
}

void Communicator::finish(const kiln_comm& comm, std::uint64_t index) {
  Group& group = group_of(comm);
  posting_of(group, comm.member, index).is_over = true;
  std::uint64_t& oldest = group.oldest[comm.member];
  while (oldest < group.started[comm.member] && posting_of(group, comm.member, oldest).is_over) {
    ++oldest;
  }
}

}  // namespace kiln::fake
