// The collectives of a graph on host memory, built on the sums and transfers of a group.
#pragma once

#include "core/ir/attrs.h"
#include "runtime/distributed/group.h"

#include <cstddef>
#include <memory>

namespace kiln::runtime::distributed {

/// One collective with its sizes. The axis of AllGather and ReduceScatter divides a tensor into
/// `outer` blocks; a block of one rank has `block` bytes.
struct Collective {
  ir::CollectiveKind kind = ir::CollectiveKind::AllReduce;
  Reduction reduction = Reduction::Sum;
  DType dtype = DType::Float32;
  std::size_t root = 0;
  std::size_t bytes = 0;  // of a rank's operand
  std::size_t outer = 1;
  std::size_t block = 0;  // REQUIRES: outer * block is the smaller of operand and result
};

/// Runs collectives of one group on the communication thread.
class CollectiveRunner {
 public:
  explicit CollectiveRunner(std::shared_ptr<Group> group) : group_(std::move(group)) {}

  /// Makes room for a collective, so that run() cannot fail for want of memory. std::bad_alloc.
  void reserve(const Collective& collective);
  /// Runs it with all ranks. A null `from` stands for undefined elements, a null `to` discards the
  /// result: a rank that has failed takes part in what the others run. Throws CommunicatorError.
  void run(const Collective& collective, const std::byte* from, std::byte* to);

 private:
  void all_gather(const Collective& collective, const std::byte* from, std::byte* to);
  void reduce_scatter(const Collective& collective, const std::byte* from, std::byte* to);
  void broadcast(const Collective& collective, const std::byte* from, std::byte* to);
  std::size_t ranks() const { return group_->place().size; }
  /// Bytes of one transfer of an all-gather.
  std::size_t part_bytes() const;

  std::shared_ptr<Group> group_;
};

}  // namespace kiln::runtime::distributed
