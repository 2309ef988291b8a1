// Decides by a seed how late a transfer is over.
#pragma once

#include "tests/distributed/fake/world/world.h"

namespace kiln::fake {

struct Timing {
  std::uint64_t polls = 0;  // tests that find the transfer complete and say that it is not over
  bool needs_all = false;   // a broadcast waits for all ranks
};

/// The same for the same arguments. Seed 0: no delay. No transfer is held back until another one is
/// over, as a host may test one alone.
inline Timing timing_of(std::uint64_t seed, std::uint32_t rank, std::uint64_t transfer) {
  if (seed == 0) return {};
  std::uint64_t bits = seed * 0x9e3779b97f4a7c15ull + rank * 0xd1342543de82ef95ull + transfer;
  for (int round = 0; round < 3; ++round) bits = (bits ^ (bits >> 31)) * 0xbf58476d1ce4e5b9ull;
  bits ^= bits >> 32;
  static constexpr std::uint64_t kPolls[] = {0, 0, 1, 2, 5, 11, 23, 3};
  return {.polls = kPolls[bits % 8], .needs_all = bits / 8 % 2 == 1};
}

}  // namespace kiln::fake
