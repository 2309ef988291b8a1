// Greedy by size: within a few percent of the largest live set for the graphs of training steps.
#include "backends/codegen/plan_memory.h"

#include "backends/codegen/binding.h"

#include <algorithm>
#include <numeric>

namespace kiln::codegen {

MemoryPlan plan_memory(std::vector<MemoryBlock>& blocks, int steps) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return blocks[a].bytes > blocks[b].bytes;
  });
  MemoryPlan plan;
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t i : order) {
    MemoryBlock& block = blocks[i];
    block.bytes = (block.bytes + kAlignment - 1) / kAlignment * kAlignment;
    std::int64_t offset = 0;
    for (const std::size_t j : placed) {
      const MemoryBlock& other = blocks[j];
      if (other.last < block.first || block.last < other.first) continue;
      if (other.offset >= offset + block.bytes) break;
      offset = std::max(offset, other.offset + other.bytes);
    }
    block.offset = offset;
    plan.bytes = std::max(plan.bytes, offset + block.bytes);
    const auto at = std::upper_bound(
        placed.begin(), placed.end(), offset,
        [&](std::int64_t value, std::size_t j) { return value < blocks[j].offset; });
    placed.insert(at, i);
  }
  std::vector<std::int64_t> change(static_cast<std::size_t>(steps) + 2, 0);
  for (const MemoryBlock& block : blocks) {
    change[static_cast<std::size_t>(block.first)] += block.bytes;
    change[static_cast<std::size_t>(block.last) + 1] -= block.bytes;
  }
  std::int64_t live = 0;
  for (const std::int64_t bytes : change) {
    live += bytes;
    plan.live_bytes = std::max(plan.live_bytes, live);
  }
  return plan;
}

}  // namespace kiln::codegen
