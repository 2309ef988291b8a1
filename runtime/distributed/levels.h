// Factors a group of ranks into levels, so that an all-reduce sends few messages: among the ranks
// of a host first, then among hosts. The sums have the bits of one level (rank_tree.h).
#pragma once

#include <cstddef>
#include <vector>

namespace kiln::runtime::distributed {

/// An all-reduce whose tensors have no more bytes than that, those of all ranks together, is one
/// all-gather without levels.
inline constexpr std::size_t kMaxGatheredSum = std::size_t{64} << 10;
/// A larger tensor is reduced in chunks of that many bytes.
inline constexpr std::size_t kSumChunk = std::size_t{32} << 20;

/// The sizes of the levels, whose product is `ranks`; {1} for one rank. A rank's position in level
/// i is digit i of its number, the first level being the lowest digit. All but the last are powers
/// of two, at most 16 except for that of the hosts, as aligned blocks of 2^k leaves are subtrees.
/// `host_ranks`: how many consecutive ranks share a host, 1 if that differs or is not known.
/// REQUIRES: both are positive.
std::vector<std::size_t> level_sizes(std::size_t ranks, std::size_t host_ranks);

}  // namespace kiln::runtime::distributed
