// A level is an all-to-all and a tree over what arrives: then a rank has a segment of the sum over
// its ranks, and the next level goes on with that. All-gathers in reverse order give all segments
// to all.
#include "runtime/distributed/rank_sums.h"

#include "runtime/distributed/levels.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace kiln::runtime::distributed {
namespace {

/// The next multiple of the number of ranks.
std::size_t padded(std::size_t count, std::size_t ranks) {
  return (count + ranks - 1) / ranks * ranks;
}

/// Reduces the parts of equal size that a transfer brought.
void reduce_parts(DType dtype, Reduction reduction, DType from, DType to, std::size_t parts,
                  std::span<const std::byte> received, std::byte* result) {
  const std::size_t bytes = received.size() / parts;
  std::vector<const std::byte*> leaves;
  for (std::size_t i = 0; i < parts; ++i) leaves.push_back(received.data() + i * bytes);
  reduce_ranks(dtype, reduction, from, to, leaves, bytes / dtype_bytes(from), result);
}

/// The number of ranks of the group on each host; 1 if hosts have different numbers of them. Equal
/// on all ranks, which exchange their numbers.
std::size_t ranks_per_host(Channel& group) {
  const std::uint64_t own = group.place().local_size;
  const auto all = group.all_gather(std::as_bytes(std::span(&own, 1)));
  for (std::size_t at = 0; at < all.size(); at += sizeof(own)) {
    if (std::memcmp(all.data() + at, &own, sizeof(own)) != 0) return 1;
  }
  return group.place().local_size;
}

}  // namespace

RankSums::RankSums(CommunicationThread& thread, Channel& group) : group_(group) {
  const Place& place = group.place();
  // The ranks of a host are consecutive if the launcher fills one host after the other; otherwise
  // the levels have the same sums, with more messages between hosts.
  const std::vector<std::size_t> sizes = level_sizes(place.size, ranks_per_host(group));
  if (sizes.size() == 1) {
    levels_.push_back(&group);
    return;
  }
  std::size_t stride = 1;
  for (const std::size_t size : sizes) {
    const std::size_t digit = place.rank / stride % size;
    const std::size_t others = place.rank - digit * stride;  // equal on the ranks of the part
    levels_.push_back(
        &thread.split(group, static_cast<std::int64_t>(others), static_cast<std::int64_t>(digit)));
    stride *= size;
  }
}

std::size_t RankSums::scatter(DType dtype, Reduction reduction, const std::byte* tensor,
                              std::size_t count) {
  DType from = dtype;
  for (Channel* level : levels_) {
    const DType to = level == levels_.back() ? dtype : partial_dtype(dtype, reduction);
    const std::size_t parts = level->place().size;
    const auto received = level->all_to_all({tensor, count * dtype_bytes(from)});
    reduce_parts(dtype, reduction, from, to, parts, received, work_.data());
    count /= parts;
    from = to;
    tensor = work_.data();
  }
  return count;
}

void RankSums::gather(std::size_t bytes, std::byte* to) {
  std::span<const std::byte> segment(work_.data(), bytes);
  for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
    segment = (*level)->all_gather(segment, *level == levels_.front() ? to : nullptr);
  }
}

void RankSums::all_reduce_chunk(DType dtype, Reduction reduction, std::byte* tensor,
                                std::size_t bytes) {
  const std::size_t ranks = group_.place().size, element = dtype_bytes(dtype);
  if (bytes * ranks <= kMaxGatheredSum) {
    const auto received = group_.all_gather({tensor, bytes});
    return reduce_parts(dtype, reduction, dtype, dtype, ranks, received, tensor);
  }
  const std::size_t count = padded(bytes / element, ranks);
  if (count * element == bytes) {
    return gather(scatter(dtype, reduction, tensor, count) * element, tensor);
  }
  const auto end = std::copy_n(tensor, bytes, padded_.begin());
  std::fill(end, padded_.begin() + static_cast<std::ptrdiff_t>(count * element), std::byte{0});
  gather(scatter(dtype, reduction, padded_.data(), count) * element, padded_.data());
  std::memcpy(tensor, padded_.data(), bytes);
}

void RankSums::all_reduce(DType dtype, Reduction reduction, std::byte* tensor, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kSumChunk) {
    all_reduce_chunk(dtype, reduction, tensor + at, std::min(kSumChunk, bytes - at));
  }
}

std::size_t RankSums::position_of(std::size_t rank) const {
  std::size_t position = 0, left = group_.place().size;
  for (const Channel* level : levels_) {
    const std::size_t size = level->place().size;
    left /= size;
    position += rank % size * left;
    rank /= size;
  }
  return position;
}

void RankSums::reduce_scatter(DType dtype, Reduction reduction, std::span<const std::byte> from,
                              std::span<std::byte> to) {
  const std::size_t ranks = group_.place().size, element = dtype_bytes(dtype);
  const std::size_t most = std::max<std::size_t>(1, kSumChunk / ranks / element) * element;
  for (std::size_t at = 0; at < to.size(); at += most) {
    const std::size_t bytes = std::min(most, to.size() - at);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      std::memcpy(work_.data() + position_of(rank) * bytes, from.data() + rank * to.size() + at,
                  bytes);
    }
    scatter(dtype, reduction, work_.data(), ranks * bytes / element);
    std::memcpy(to.data() + at, work_.data(), bytes);
  }
}

void RankSums::reserve(DType dtype, Reduction reduction, std::size_t bytes) {
  const std::size_t ranks = group_.place().size;
  // Partial sums of halves are wider, and more than one level leaves half of them at most.
  const std::size_t chunk = std::min(bytes, kSumChunk) + ranks * dtype_bytes(dtype);
  const std::size_t wide = dtype_bytes(partial_dtype(dtype, reduction)) / dtype_bytes(dtype);
  const std::size_t most = std::max(chunk, levels_.size() > 1 ? chunk / 2 * wide : 0);
  work_.resize(std::max(work_.size(), most));
  const std::size_t step = ranks * dtype_bytes(dtype);
  const bool is_padded = bytes % step != 0 || (bytes > kSumChunk && kSumChunk % step != 0);
  if (is_padded) padded_.resize(std::max(padded_.size(), chunk));
  group_.reserve(std::max(most, std::min(bytes * ranks, kMaxGatheredSum)));
  for (Channel* level : levels_) level->reserve(most);
}

}  // namespace kiln::runtime::distributed
