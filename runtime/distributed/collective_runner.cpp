// A transfer carries at most kChunk bytes of a rank, so that memory is bounded. Along an axis other
// than the first, the ranks' blocks alternate in a tensor and follow each other in a transfer.
#include "runtime/distributed/collective_runner.h"

#include "runtime/distributed/membership.h"

#include <algorithm>
#include <cstring>

namespace kiln::runtime::distributed {
namespace {

constexpr std::size_t kChunk = std::size_t{32} << 20;  // bytes

using ir::CollectiveKind;

}  // namespace

std::size_t CollectiveRunner::part_bytes() const {
  return std::max(kChunk / ranks(), std::size_t{1});
}

void CollectiveRunner::reserve(const Collective& c) {
  Group::Part& part = group_->part();
  switch (c.kind) {
    case CollectiveKind::AllReduce:
    case CollectiveKind::Reduce: return part.sums.reserve(c.dtype, c.reduction, c.bytes);
    case CollectiveKind::ReduceScatter:
      part.sums.reserve(c.dtype, c.reduction, c.bytes);
      if (c.outer > 1) part.packed.resize(std::max(part.packed.size(), c.bytes));
      return;
    case CollectiveKind::AllGather:
      return part.channel->reserve(std::min(c.bytes, part_bytes()) * ranks());
    case CollectiveKind::Broadcast: return part.channel->reserve(std::min(c.bytes, kChunk));
  }
}

void CollectiveRunner::run(const Collective& c, const std::byte* from, std::byte* to) {
  if (c.bytes == 0) return;  // empty tensors may have no memory
  switch (c.kind) {
    case CollectiveKind::AllReduce:
      return group_->sums().all_reduce(c.dtype, c.reduction, from, to, c.bytes);
    case CollectiveKind::Reduce:
      group_->sums().all_reduce(c.dtype, Reduction::Sum, from, to, c.bytes);
      if (to != nullptr && group_->place().rank != c.root) {
        std::memset(to, 0, c.bytes);
      }
      return;
    case CollectiveKind::ReduceScatter: return reduce_scatter(c, from, to);
    case CollectiveKind::AllGather: return all_gather(c, from, to);
    case CollectiveKind::Broadcast: return broadcast(c, from, to);
  }
}

void CollectiveRunner::all_gather(const Collective& c, const std::byte* from, std::byte* to) {
  Channel& channel = *group_->part().channel;
  for (std::size_t at = 0; at < c.bytes; at += part_bytes()) {
    const std::size_t bytes = std::min(part_bytes(), c.bytes - at);
    const std::byte* received =
        channel.all_gather(from == nullptr ? nullptr : from + at, bytes).data();
    if (to == nullptr) continue;
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
      for (std::size_t begin = at; begin < at + bytes;) {
        const std::size_t in_block = begin % c.block;
        const std::size_t run = std::min(c.block - in_block, at + bytes - begin);
        const std::size_t block = begin / c.block * ranks() + rank;
        std::memcpy(to + block * c.block + in_block, received, run);
        received += run;
        begin += run;
      }
    }
  }
}

void CollectiveRunner::reduce_scatter(const Collective& c, const std::byte* from, std::byte* to) {
  if (c.outer > 1 && from != nullptr) {
    std::byte* packed = group_->part().packed.data();
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
      for (std::size_t i = 0; i < c.outer; ++i, packed += c.block) {
        std::memcpy(packed, from + (i * ranks() + rank) * c.block, c.block);
      }
    }
    from = group_->part().packed.data();
  }
  group_->sums().reduce_scatter(c.dtype, Reduction::Sum, from, to, c.outer * c.block);
}

void CollectiveRunner::broadcast(const Collective& c, const std::byte* from, std::byte* to) {
  Channel& channel = *group_->part().channel;
  for (std::size_t at = 0; at < c.bytes; at += kChunk) {
    const std::size_t bytes = std::min(kChunk, c.bytes - at);
    const auto received = channel.broadcast(c.root, from == nullptr ? nullptr : from + at, bytes);
    if (to != nullptr) std::memcpy(to + at, received.data(), bytes);
  }
}

}  // namespace kiln::runtime::distributed
