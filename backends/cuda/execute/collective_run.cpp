// A failure between the transfers of a collective leaves the ranks apart: it breaks the group up.
// One before it leaves the collective to drain().
#include "backends/cuda/execute/collective_run.h"

#include "backends/codegen/inspect/source.h"
#include "backends/cuda/device/device_address.h"
#include "backends/cuda/execute/fill_with_zeros.h"
#include "backends/cuda/libraries/rank_wait.h"
#include "core/types/at.h"
#include "core/types/text.h"

#include <new>
#include <utility>

namespace kiln::cuda {

using api::DeviceAddress;
using ir::CollectiveKind;

CollectiveRun::~CollectiveRun() { call_.stream.set_waiter(nullptr); }

void CollectiveRun::open() {
  if (state_ != State::NotOpened) return;
  state_ = State::Over;  // if it fails
  require_equal_ranks();
  for (const DeviceCollective& one : call_.collectives) communicators_[one.attrs.group] = nullptr;
  groups_.open();
  try {
    join();
  } catch (const std::bad_alloc&) {
    break_up("no memory to join the ranks of NCCL");  // the others may be in an exchange
  }
  state_ = State::Open;
  call_.stream.set_waiter(this);
}

void CollectiveRun::join() {
  // Ranks of several groups must know of a failure in any of them before they enter the first.
  const bool has_several = communicators_.size() > 1;
  std::string failed;
  for (auto& [group, communicator] : communicators_) {
    try {
      communicator = call_.communicators.of(group, groups_);
    } catch (const sdk::Failure& failure) {
      if (!has_several) throw;
      failed = failure.what();
    }
  }
  if (has_several) groups_.require_success(0, failed);
}

/// Parts of the buffers have sizes by the payloads, and NCCL fills those of all ranks.
void CollectiveRun::require_equal_ranks() const {
  for (const DeviceCollective& one : call_.collectives) {
    const std::int64_t size = groups_.place(one.attrs.group).size;
    if (size == one.attrs.ranks) continue;
    throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT,
                       text("the collective of ", codegen::source_of(*one.node), " has ",
                            one.attrs.ranks, " ranks, but group ", one.attrs.group, " has ", size));
  }
}

Communicator& CollectiveRun::communicator_of(const DeviceCollective& one) const {
  return *communicators_.at(one.attrs.group);
}

DeviceAddress CollectiveRun::buffer_of(const DeviceCollective& one) const {
  return offset_by(call_.memory, one.buffer);
}

DeviceAddress CollectiveRun::operand_of(const DeviceCollective& one) const {
  const bool is_part = one.attrs.kind == CollectiveKind::AllGather;
  return offset_by(buffer_of(one), is_part ? communicator_of(one).place().rank * one.part : 0);
}

// ---- Work of this rank ----

void CollectiveRun::copy(DeviceAddress to, DeviceAddress from, std::int64_t bytes) const {
  if (bytes == 0) return;
  call_.stream.submit(
      [&] {
        return call_.stream.device().driver().memcpy_device_to_device_async(to, from, at(bytes),
                                                                            call_.stream.handle());
      },
      "copy on the device");
}

void CollectiveRun::launch(const BoundGraphKernel& kernel, std::span<const DeviceAddress> arguments,
                           DeviceAddress result) {
  const std::vector<DeviceAddress> operands = kernel.kernel->operands(arguments, result);
  launch_kernel(call_.stream, kernel.bound, {.operands = operands, .call_block = call_.call_block},
                launch_memory_);
}

void CollectiveRun::pack(const DeviceCollective& one, std::span<const TensorBytes> operands) {
  DeviceAddress to = operand_of(one);
  if (one.swap && one.attrs.kind == CollectiveKind::ReduceScatter) {
    return launch(*one.swap, std::span(&operands[0].address, 1), to);
  }
  for (const TensorBytes& operand : operands) {
    copy(to, operand.address, operand.bytes);
    to = offset_by(to, operand.bytes);
  }
}

void CollectiveRun::combine(const DeviceCollective& one, DeviceAddress result) {
  std::vector<DeviceAddress> parts;
  for (std::int64_t rank = 0; rank < one.attrs.ranks; ++rank) {
    parts.push_back(offset_by(call_.memory, rank * one.part));
  }
  launch(*one.reduction, parts, result);
}

// ---- With all ranks ----

template <class Queue>
void CollectiveRun::transfer(const DeviceCollective& one, const Queue& queue) {
  transfers_.begin(one.node);
  queue();
  transfers_.end();
}

void CollectiveRun::queue_transfers(const DeviceCollective& one) {
  Communicator& ranks = communicator_of(one);
  const DeviceAddress buffer = buffer_of(one), work = call_.memory;
  switch (one.attrs.kind) {
    case CollectiveKind::AllReduce:
    case CollectiveKind::Reduce: {
      if (one.is_gathered_sum) {
        transfer(one, [&] { ranks.all_gather(buffer, work, one.part, call_.stream); });
        return combine(one, buffer);
      }
      const DeviceAddress own = offset_by(buffer, ranks.place().rank * one.part);
      transfer(one, [&] { ranks.all_to_all(buffer, work, one.part, call_.stream); });
      combine(one, own);
      return transfer(one, [&] { ranks.all_gather(own, buffer, one.part, call_.stream); });
    }
    case CollectiveKind::ReduceScatter:
      transfer(one, [&] { ranks.all_to_all(buffer, work, one.part, call_.stream); });
      return combine(one, buffer);
    case CollectiveKind::AllGather:
      return transfer(one,
                      [&] { ranks.all_gather(operand_of(one), buffer, one.part, call_.stream); });
    case CollectiveKind::Broadcast:
      return transfer(one,
                      [&] { ranks.broadcast(buffer, one.bytes, one.attrs.root, call_.stream); });
  }
}

void CollectiveRun::queue(const DeviceCollective& one) {
  try {
    if (one.bytes != 0) queue_transfers(one);
    ++next_;
  } catch (const std::exception& failure) {
    if (state_ == State::Over) throw;  // the stream's waiter has broken the group up
    break_up(failure.what());
  }
}

void CollectiveRun::start(std::size_t number, std::span<const TensorBytes> operands) {
  open();
  const DeviceCollective& one = call_.collectives[number];
  if (number != next_) {
    throw sdk::Failure(KILN_CODE_INTERNAL, "the collectives of a plan are out of their order");
  }
  if (one.bytes != 0) pack(one, operands);
  queue(one);
}

void CollectiveRun::copy_results(std::size_t number, std::span<const TensorBytes> results) {
  const DeviceCollective& one = call_.collectives[number];
  if (one.bytes == 0) return;
  DeviceAddress from = buffer_of(one);
  if (one.swap && one.attrs.kind == CollectiveKind::AllGather) {
    return launch(*one.swap, std::span(&from, 1), results[0].address);
  }
  const bool is_zero = one.attrs.kind == CollectiveKind::Reduce &&
                       communicator_of(one).place().rank != one.attrs.root;
  for (const TensorBytes& result : results) {
    if (is_zero && result.bytes != 0) {
      fill_with_zeros(call_.stream, result.address, result.bytes);
    } else {
      copy(result.address, from, result.bytes);
    }
    from = offset_by(from, result.bytes);
  }
}

// ---- Waiting and failures ----

void CollectiveRun::break_up(const std::string& reason) {
  state_ = State::Over;
  call_.communicators.abort_all();
  groups_.break_up(reason);
}

void CollectiveRun::wait(const Stream& stream) {
  if (state_ != State::Open) return;
  std::string reason;
  try {
    RankWait waiting(call_.host, communicators_.begin()->second->place().time_limit);
    const OpenTransfers::Transfer* last = nullptr;
    while (stream.device().driver().stream_query(stream.handle()) == api::Status::NotReady) {
      for (const auto& one : communicators_) one.second->check();
      const OpenTransfers::Transfer* const open = transfers_.current();
      if (open == nullptr || open != last) {
        waiting.restart(open == nullptr ? "" : codegen::source_of(*open->node));
      }
      last = open;
      waiting.pause();
    }
    return;
  } catch (const std::exception& failure) {
    reason = failure.what();
  }
  break_up(reason);
}

void CollectiveRun::drain() noexcept {
  try {
    if (state_ != State::Open) return;
    call_.stream.device().require_usable();
    while (next_ < call_.collectives.size()) {
      const DeviceCollective& one = call_.collectives[next_];
      // Other ranks may check the numbers that they get.
      if (one.bytes != 0) fill_with_zeros(call_.stream, operand_of(one), one.bytes);
      queue(one);
    }
    call_.stream.synchronize();
  } catch (const std::exception& failure) {
    try {
      if (state_ == State::Open) break_up(failure.what());
    } catch (const std::exception&) {  // the host knows
    }
  }
}

}  // namespace kiln::cuda
