// Places blocks of memory with known lifetimes in one arena.
#pragma once

#include <cstdint>
#include <vector>

namespace kiln::codegen {

/// Bytes from one tensor to the next in an arena.
inline constexpr std::int64_t kAlignment = 64;

/// Alive from step `first` to step `last`, both included.
struct MemoryBlock {
  std::int64_t bytes = 0;
  int first = 0, last = 0;
  std::int64_t offset = 0;  // set by plan_memory
};

struct MemoryPlan {
  std::int64_t bytes = 0;       // of the arena
  std::int64_t live_bytes = 0;  // the most that is alive at one step
};

/// No two blocks that are alive at the same step share memory.
MemoryPlan plan_memory(std::vector<MemoryBlock>& blocks, int steps);

}  // namespace kiln::codegen
