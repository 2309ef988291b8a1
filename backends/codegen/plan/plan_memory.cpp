// Two packers: greedy by size for few blocks, best fit in order of time for many.
#include "backends/codegen/plan/plan_memory.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

namespace kiln::codegen {
namespace {

constexpr std::size_t kManyBlocks = 8192;  // from here on, comparing all pairs is too slow

using Numbers = std::pmr::vector<std::uint32_t>;

/// The numbers of the blocks; equal ones keep their order.
template <class Less>
Numbers sorted(std::span<const MemoryBlock> blocks, std::pmr::memory_resource* scratch,
               const Less& less) {
  Numbers order(blocks.size(), scratch);
  std::iota(order.begin(), order.end(), 0u);
  if (std::is_sorted(blocks.begin(), blocks.end(), less)) return order;
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (less(blocks[a], blocks[b])) return true;
    return a < b && !less(blocks[b], blocks[a]);
  });
  return order;
}

/// Assigns offsets in descending order of size: the lowest offset that no block with an overlapping
/// lifetime occupies.
void assign_by_size(std::span<MemoryBlock> blocks, std::pmr::memory_resource* scratch) {
  const auto larger = [](const MemoryBlock& a, const MemoryBlock& b) { return a.bytes > b.bytes; };
  std::pmr::vector<MemoryBlock> assigned(scratch);  // by offset
  assigned.reserve(blocks.size());
  for (const std::uint32_t i : sorted(blocks, scratch, larger)) {
    MemoryBlock& block = blocks[i];
    std::int64_t offset = 0;
    for (const MemoryBlock& other : assigned) {
      if (other.last < block.first || block.last < other.first) continue;
      if (other.offset >= offset + block.bytes) break;
      offset = std::max(offset, other.offset + other.bytes);
    }
    block.offset = offset;
    const auto position = std::upper_bound(
        assigned.begin(), assigned.end(), offset,
        [](std::int64_t value, const MemoryBlock& other) { return value < other.offset; });
    assigned.insert(position, block);
  }
}

/// Best-fit free list below an end that grows and shrinks.
class FreeList {
 public:
  /// Takes the lower end of the smallest hole that is large enough, else memory beyond the end.
  std::int64_t allocate(std::int64_t bytes) {
    if (bytes == 0) return 0;
    const auto best = by_size_.lower_bound({bytes, 0});
    if (best == by_size_.end()) {
      end_ += bytes;
      return end_ - bytes;
    }
    const auto [size, offset] = *best;
    remove(by_offset_.find(offset));
    if (size > bytes) add(offset + bytes, size - bytes);
    return offset;
  }

  /// Merges the memory with neighbouring holes.
  void release(std::int64_t offset, std::int64_t bytes) {
    if (bytes == 0) return;
    const auto above = by_offset_.lower_bound(offset);
    if (above != by_offset_.begin()) {
      const auto below = std::prev(above);
      if (below->first + below->second == offset) {
        offset = below->first;
        bytes += below->second;
        remove(below);
      }
    }
    if (above != by_offset_.end() && offset + bytes == above->first) {
      bytes += above->second;
      remove(above);
    }
    if (offset + bytes == end_) {
      end_ = offset;
      return;
    }
    add(offset, bytes);
  }

 private:
  using ByOffset = std::map<std::int64_t, std::int64_t>;

  void add(std::int64_t offset, std::int64_t bytes) {
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }
  void remove(ByOffset::iterator hole) {
    by_size_.erase({hole->second, hole->first});
    by_offset_.erase(hole);
  }

  ByOffset by_offset_;
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;
  std::int64_t end_ = 0;
};

/// Assigns offsets in the order of first steps, as an allocator would at run time.
void assign_by_time(std::span<MemoryBlock> blocks, std::pmr::memory_resource* scratch) {
  const auto first = [](const MemoryBlock& a, const MemoryBlock& b) { return a.first < b.first; };
  const auto last = [](const MemoryBlock& a, const MemoryBlock& b) { return a.last < b.last; };
  const Numbers by_last = sorted(blocks, scratch, last);
  auto dead = by_last.begin();
  FreeList memory;
  for (const std::uint32_t i : sorted(blocks, scratch, first)) {
    for (; blocks[*dead].last < blocks[i].first; ++dead) {
      memory.release(blocks[*dead].offset, blocks[*dead].bytes);
    }
    blocks[i].offset = memory.allocate(blocks[i].bytes);
  }
}

/// The maximum over all steps of the bytes that are live.
std::int64_t max_live_bytes(std::span<const MemoryBlock> blocks, int steps,
                            std::pmr::memory_resource* scratch) {
  std::pmr::vector<std::int64_t> change(static_cast<std::size_t>(steps) + 2, 0, scratch);
  for (const MemoryBlock& block : blocks) {
    change[static_cast<std::size_t>(block.first)] += block.bytes;
    change[static_cast<std::size_t>(block.last) + 1] -= block.bytes;
  }
  std::int64_t live = 0, most = 0;
  for (const std::int64_t bytes : change) {
    live += bytes;
    most = std::max(most, live);
  }
  return most;
}

}  // namespace

MemoryPlan plan_memory(std::span<MemoryBlock> blocks, int steps,
                       std::pmr::memory_resource* scratch) {
  for (MemoryBlock& block : blocks) {
    block.bytes = (block.bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  if (blocks.size() < kManyBlocks) {
    assign_by_size(blocks, scratch);
  } else {
    assign_by_time(blocks, scratch);
  }
  MemoryPlan plan;
  for (const MemoryBlock& block : blocks) {
    plan.bytes = std::max(plan.bytes, block.offset + block.bytes);
  }
  plan.live_bytes = max_live_bytes(blocks, steps, scratch);
  return plan;
}

}  // namespace kiln::codegen
