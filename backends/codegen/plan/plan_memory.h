// Offline memory planning: offsets for blocks with known lifetimes in one arena, so that blocks
// which are live at the same step are disjoint (dynamic storage allocation, which is NP-hard).
//
// Below 8192 blocks: greedy by size. The largest block first, each at the lowest offset that is
// free during its lifetime; O(n^2), within a few percent of the largest live set for training
// steps. From there: blocks in order of their first step, into the smallest hole that dead blocks
// left; O(n log n).
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>

namespace kiln::codegen {

/// Alignment of each tensor in an arena, in bytes.
inline constexpr std::int64_t kAlignment = 64;

/// Live from step `first` to step `last`, both included.
struct MemoryBlock {
  std::int64_t bytes = 0;
  int first = 0, last = 0;
  std::int64_t offset = 0;  // set by plan_memory
};

struct MemoryPlan {
  std::int64_t bytes = 0;       // of the arena
  std::int64_t live_bytes = 0;  // maximum over all steps of the bytes that are live: a lower bound
};

/// Sets the offsets; rounds `bytes` of each block up to kAlignment. `steps`: upper bound of all
/// `last`. `scratch`: for working memory. REQUIRES: the sum of all bytes fits 63 bits.
MemoryPlan plan_memory(std::span<MemoryBlock> blocks, int steps,
                       std::pmr::memory_resource* scratch = std::pmr::new_delete_resource());

}  // namespace kiln::codegen
