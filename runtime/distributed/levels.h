// Factors a group of ranks into levels, so that an all-reduce sends few messages: among the ranks
// of a host first, then among hosts. The sums have the bits of one level (rank_tree.h).
#pragma once

#include <cstddef>
#include <vector>

namespace kiln::runtime::distributed {

/// The sizes of the levels, whose product is `ranks`; {1} for one rank. A rank's position in level
/// i is digit i of its number, the first level being the lowest digit. All but the last are powers
/// of two, at most 16 except for that of the hosts, as aligned blocks of 2^k leaves are subtrees.
/// `host_ranks`: how many consecutive ranks share a host, 1 if that differs or is not known.
/// REQUIRES: both are positive.
std::vector<std::size_t> level_sizes(std::size_t ranks, std::size_t host_ranks);

/// The messages and bytes that one rank sends in a transfer.
struct TransferCount {
  std::size_t messages = 0, bytes = 0;
  bool operator==(const TransferCount&) const = default;
};

/// Of an all-reduce of `bytes` in levels: an all-to-all in each, then an all-gather in each
/// backwards. REQUIRES: the product of the levels divides `bytes`.
TransferCount all_reduce_count(const std::vector<std::size_t>& levels, std::size_t bytes);

}  // namespace kiln::runtime::distributed
