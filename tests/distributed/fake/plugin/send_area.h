// Copies of the bytes that a rank sends, in shared memory until all ranks are done with them.
#pragma once

#include "tests/distributed/fake/world/world.h"

#include <deque>

namespace kiln::fake {

/// A ring in the send area of one rank.
class SendArea {
 public:
  SendArea(World& world, std::uint32_t rank) : world_(world), rank_(rank) {}

  /// Returns the offset of memory for transfer `index` of a group. Under the lock. Throws Failure
  /// if transfers in progress fill the area.
  std::uint64_t reserve(std::uint64_t bytes, std::uint32_t group, std::uint64_t index);
  std::byte* at(std::uint64_t offset) { return world_.send_area(rank_) + offset; }

 private:
  struct Chunk {
    std::uint64_t begin, end;
    std::uint32_t group;
    std::uint64_t index;
  };

  World& world_;
  std::uint32_t rank_;
  std::deque<Chunk> chunks_;  // in the order of their reservation
};

}  // namespace kiln::fake
