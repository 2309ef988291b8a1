// Combines tensors over a group: the communicator moves bytes, rank_tree.h adds.
#pragma once

#include "runtime/distributed/communication_thread.h"
#include "runtime/distributed/rank_tree.h"

#include <cstddef>
#include <span>
#include <vector>

namespace kiln::runtime::distributed {

/// The reductions of one group, in levels (levels.h). Used on the communication thread; throws
/// CommunicatorError. The bits are those of reduce_ranks over all ranks' elements.
class RankSums {
 public:
  /// Splits the group by levels: an operation of all its ranks.
  RankSums(CommunicationThread& thread, Channel& group);

  /// Sets the tensor, of `bytes` bytes on all ranks, to the reduction over the ranks. Its memory
  /// lives until the group ends, if this throws. Tensors of a multiple of ranks elements are not
  /// copied. REQUIRES, here and below: reserve() for this size.
  void all_reduce(DType dtype, Reduction reduction, std::byte* tensor, std::size_t bytes);
  /// `from`: one part for each rank, in rank order; `to`: this rank's part of the sum.
  void reduce_scatter(DType dtype, Reduction reduction, std::span<const std::byte> from,
                      std::span<std::byte> to);

  /// Makes room for calls with tensors of up to `bytes`, so that they cannot fail for want of
  /// memory. Throws std::bad_alloc.
  void reserve(DType dtype, Reduction reduction, std::size_t bytes);

 private:
  void all_reduce_chunk(DType dtype, Reduction reduction, std::byte* tensor, std::size_t bytes);
  /// Reduces `count` elements, a multiple of the ranks, to this rank's segment of them, which it
  /// leaves in `work_`. Returns its number of elements.
  std::size_t scatter(DType dtype, Reduction reduction, const std::byte* tensor, std::size_t count);
  /// From this rank's segment in `work_` to all of them, in their order.
  void gather(std::size_t bytes, std::byte* to);
  /// The number of the segment that scatter() leaves to a rank.
  std::size_t position_of(std::size_t rank) const;

  Channel& group_;
  std::vector<Channel*> levels_;
  std::vector<std::byte> work_;
  std::vector<std::byte> padded_;  // a copy of a chunk of another size than a multiple of the ranks
};

}  // namespace kiln::runtime::distributed
