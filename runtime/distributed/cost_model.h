// Predicts from the rates of a machine how the time of a data-parallel step grows with the number
// of ranks. Pure functions: nothing is measured.
#pragma once

#include "runtime/distributed/rank_tree.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace kiln::runtime::distributed {

/// An operand of an all-reduce on one rank.
struct Summand {
  DType dtype = DType::Float32;
  Reduction reduction = Reduction::Sum;
  std::size_t bytes = 0;
};

/// The messages and bytes that one rank sends. A transfer sends each other rank its part by itself,
/// although an engine may pass parts on.
struct TransferCount {
  std::size_t messages = 0, bytes = 0;
  bool operator==(const TransferCount&) const = default;
};

/// The transfers of one rank in a part of an all-reduce, and the bytes that its tree reads.
struct SumWork {
  TransferCount sent;
  std::size_t added = 0;
};

/// The work of one rank in RankSums::all_reduce.
struct AllReduceWork {
  std::vector<SumWork> levels;  // of each: an all-to-all, and an all-gather on the way back
  SumWork gathered;  // of the chunks that are small: an all-gather of all ranks
  std::size_t gathers = 0;  // the number of them

  /// All that the rank sends.
  TransferCount sent() const;
};

/// REQUIRES: whole elements; at least one level.
AllReduceWork all_reduce_work(const std::vector<std::size_t>& levels, const Summand& summand);

/// The rates of a machine on which consecutive ranks share a node.
struct Machine {
  double latency = 0;  // seconds a message
  double bandwidth = 0;  // bytes a second that a node sends through all its ports
  double node_bandwidth = 0;  // bytes a second that a rank sends to ranks of its node
  double addition = 0;  // seconds for each byte that a sum reads
  std::size_t ranks_per_node = 1;
};

/// A training step on one rank alone: the seconds of its forward and backward computation, and the
/// operands of its all-reduces, which do not depend on each other, in the order in which they run.
struct Step {
  double seconds = 0;
  std::vector<Summand> summands;
};

/// The cause of most of the time that ranks lose. Slowest: a call ends when the slowest rank does.
enum class Bottleneck { Latency, Bandwidth, Addition, Slowest };

/// A step on that many ranks.
struct Scaling {
  double efficiency = 0;  // the seconds on one rank alone, of those on these ranks
  double one_bucket_efficiency = 0;  // with buckets of any size
  std::size_t bucket_bytes = 0;  // up to which operands are reduced together
  std::size_t buckets = 0;
  TransferCount sent;  // by one rank in the all-reduces of a step
  Bottleneck bottleneck = Bottleneck::Latency;
};

/// The model: operands become ready over the last two thirds of a step, in proportion to their
/// bytes. In their order, neighbours of equal dtype and reduction form buckets of up to
/// `bucket_bytes`, as lower_collectives.h merges them, which are reduced one after another; then
/// the ranks agree on the outcome. The times of ranks differ by 1 % (standard deviation), so that
/// the slowest of P is late by sqrt(2 ln P) %. Unless `bucket_bytes` is given, it is n sqrt(A / B)
/// if an all-reduce of all n bytes takes A seconds for its messages and B for its bytes: that
/// balances the messages of all buckets with the bytes of the last bucket, which no computation
/// overlaps with. REQUIRES: at least 2 ranks; positive seconds, bandwidths and bytes of all
/// summands together.
Scaling scaling_of(const Machine& machine, const Step& step, std::size_t ranks,
                   std::optional<std::size_t> bucket_bytes = {});

}  // namespace kiln::runtime::distributed
