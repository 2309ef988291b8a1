// One collective of a program on host memory, built on the sums and transfers of its group. The
// memory is its own: a backend may reuse that of the operand while a transfer runs, and a rank that
// has failed takes part with whatever is there.
#pragma once

#include "core/ir/attrs.h"
#include "runtime/distributed/group.h"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace kiln::runtime::distributed {

/// A collective with its sizes. The axis of AllGather and ReduceScatter divides a tensor into
/// `outer` blocks; a block of one rank has `block` bytes.
struct Collective {
  ir::CollectiveKind kind = ir::CollectiveKind::AllReduce;
  Reduction reduction = Reduction::Sum;
  DType dtype = DType::Float32;
  std::size_t root = 0;
  std::size_t bytes = 0;  // of a rank's operand
  std::size_t outer = 1;
  std::size_t block = 0;  // outer * block is the smaller of operand and result
};

class CollectiveRunner {
 public:
  explicit CollectiveRunner(std::shared_ptr<Group> group) : group_(std::move(group)) {}

  /// Makes room for a collective, so that run() cannot fail for want of memory. Runs on the
  /// communication thread. std::bad_alloc.
  void prepare(const Collective& collective);
  /// Runs it with all ranks, on the communication thread. Throws CommunicatorError.
  void run();

  std::span<std::byte> operand() { return {operand_.data(), collective_.bytes}; }
  std::span<const std::byte> result() const { return {result_data(), result_bytes()}; }

 private:
  void all_gather();
  void reduce_scatter();
  void broadcast();
  std::size_t ranks() const { return group_->place().size; }
  /// Bytes of a rank in one transfer of an all-gather.
  std::size_t part_bytes() const;
  bool is_in_place() const;
  void run_transfers();
  /// Sums of whole multiples of the ranks are not copied.
  std::size_t padded_bytes() const;
  std::size_t result_bytes() const;
  const std::byte* result_data() const { return is_in_place() ? operand_.data() : result_.data(); }

  std::shared_ptr<Group> group_;
  Collective collective_;
  std::vector<std::byte> operand_, result_;  // `result_` unless the collective is in place
};

}  // namespace kiln::runtime::distributed
