// A transfer carries at most kTransferChunk bytes, so that the memory of transfers is bounded.
// Along an axis other than the first, the blocks of ranks alternate in a tensor and follow each
// other in a transfer.
#include "runtime/distributed/collective_runner.h"

#include "runtime/distributed/levels.h"
#include "runtime/distributed/membership.h"

#include <algorithm>
#include <cstring>

namespace kiln::runtime::distributed {
namespace {

using ir::CollectiveKind;

void grow(std::vector<std::byte>& memory, std::size_t bytes) {
  if (memory.size() < bytes) memory.resize(bytes);
}

}  // namespace

std::size_t CollectiveRunner::part_bytes() const {
  return std::max(kTransferChunk / ranks(), std::size_t{1});
}

bool CollectiveRunner::is_in_place() const {
  return collective_.kind != CollectiveKind::AllGather &&
         collective_.kind != CollectiveKind::ReduceScatter;
}

std::size_t CollectiveRunner::result_bytes() const {
  if (is_in_place()) return collective_.bytes;
  const std::size_t block_bytes = collective_.outer * collective_.block;
  return collective_.kind == CollectiveKind::AllGather ? block_bytes * ranks() : block_bytes;
}

void CollectiveRunner::prepare(const Collective& collective) {
  collective_ = collective;
  const Collective& c = collective_;
  grow(operand_, padded_bytes());
  if (!is_in_place()) grow(result_, result_bytes());
  Part& part = group_->part();
  switch (c.kind) {
    case CollectiveKind::AllReduce:
    case CollectiveKind::Reduce: return part.sums.reserve(c.dtype, c.reduction, padded_bytes());
    case CollectiveKind::ReduceScatter:
      part.sums.reserve(c.dtype, c.reduction, c.bytes);
      if (c.outer > 1) grow(part.packed, c.bytes);
      return;
    case CollectiveKind::AllGather:
      return part.channel->reserve(std::min(c.bytes, part_bytes()) * ranks());
    case CollectiveKind::Broadcast: return part.channel->reserve(std::min(c.bytes, kTransferChunk));
  }
}

std::size_t CollectiveRunner::padded_bytes() const {
  const std::size_t bytes = collective_.bytes, step = ranks() * dtype_bytes(collective_.dtype);
  if (!is_in_place() || bytes * ranks() <= kMaxGatheredSum) return bytes;
  return (bytes + step - 1) / step * step;
}

void CollectiveRunner::run() {
  if (collective_.bytes == 0) return;  // empty tensors may have no memory
  try {
    run_transfers();
  } catch (const CommunicatorError&) {
    // A transfer that was given up may still read and write.
    std::vector<std::vector<std::byte>>& kept = group_->part().given_up;
    kept.push_back(std::move(operand_));
    kept.push_back(std::move(result_));
    throw;
  }
}

void CollectiveRunner::run_transfers() {
  const Collective& c = collective_;
  switch (c.kind) {
    case CollectiveKind::AllReduce:
      return group_->sums().all_reduce(c.dtype, c.reduction, operand_.data(), padded_bytes());
    case CollectiveKind::Reduce:
      group_->sums().all_reduce(c.dtype, Reduction::Sum, operand_.data(), padded_bytes());
      if (group_->place().rank != c.root) std::ranges::fill(operand(), std::byte{0});
      return;
    case CollectiveKind::ReduceScatter: return reduce_scatter();
    case CollectiveKind::AllGather: return all_gather();
    case CollectiveKind::Broadcast: return broadcast();
  }
}

void CollectiveRunner::all_gather() {
  const Collective& c = collective_;
  for (std::size_t at = 0; at < c.bytes; at += part_bytes()) {
    const std::size_t end = std::min(at + part_bytes(), c.bytes);
    const std::byte* received =
        group_->part().channel->all_gather(operand().subspan(at, end - at)).data();
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
      for (std::size_t begin = at; begin < end;) {
        const std::size_t in_block = begin % c.block;
        const std::size_t run = std::min(c.block - in_block, end - begin);
        const std::size_t block = begin / c.block * ranks() + rank;
        std::memcpy(result_.data() + block * c.block + in_block, received, run);
        received += run;
        begin += run;
      }
    }
  }
}

void CollectiveRunner::reduce_scatter() {
  const Collective& c = collective_;
  std::span<const std::byte> packed = operand();
  if (c.outer > 1) {
    std::byte* to = group_->part().packed.data();
    packed = {to, c.bytes};
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
      for (std::size_t i = 0; i < c.outer; ++i, to += c.block) {
        std::memcpy(to, operand_.data() + (i * ranks() + rank) * c.block, c.block);
      }
    }
  }
  group_->sums().reduce_scatter(c.dtype, Reduction::Sum, packed,
                                std::span(result_).first(result_bytes()));
}

void CollectiveRunner::broadcast() {
  const Collective& c = collective_;
  for (std::size_t at = 0; at < c.bytes; at += kTransferChunk) {
    const std::span<std::byte> chunk =
        operand().subspan(at, std::min(kTransferChunk, c.bytes - at));
    const auto received = group_->part().channel->broadcast(c.root, chunk);
    std::ranges::copy(received, chunk.begin());
  }
}

}  // namespace kiln::runtime::distributed
