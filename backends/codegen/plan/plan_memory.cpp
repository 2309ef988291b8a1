// Two packers: greedy by size for few blocks, best fit in order of time for many.
#include "backends/codegen/plan/plan_memory.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace kiln::codegen {
namespace {

constexpr std::size_t kManyBlocks = 8192;  // from here on, comparing all pairs is too slow

template <class Less>
std::vector<std::size_t> sorted(const std::vector<MemoryBlock>& blocks, const Less& less) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return less(blocks[a], blocks[b]);
  });
  return order;
}

/// Assigns offsets in descending order of size: the lowest offset that no block with an overlapping
/// lifetime occupies.
void assign_by_size(std::vector<MemoryBlock>& blocks) {
  const auto larger = [](const MemoryBlock& a, const MemoryBlock& b) { return a.bytes > b.bytes; };
  std::vector<std::size_t> assigned;  // blocks by offset
  for (const std::size_t i : sorted(blocks, larger)) {
    MemoryBlock& block = blocks[i];
    std::int64_t offset = 0;
    for (const std::size_t j : assigned) {
      const MemoryBlock& other = blocks[j];
      if (other.last < block.first || block.last < other.first) continue;
      if (other.offset >= offset + block.bytes) break;
      offset = std::max(offset, other.offset + other.bytes);
    }
    block.offset = offset;
    const auto position = std::upper_bound(
        assigned.begin(), assigned.end(), offset,
        [&](std::int64_t value, std::size_t j) { return value < blocks[j].offset; });
    assigned.insert(position, i);
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
void assign_by_time(std::vector<MemoryBlock>& blocks) {
  const auto first = [](const MemoryBlock& a, const MemoryBlock& b) { return a.first < b.first; };
  const auto last = [](const MemoryBlock& a, const MemoryBlock& b) { return a.last < b.last; };
  const std::vector<std::size_t> by_last = sorted(blocks, last);
  auto dead = by_last.begin();
  FreeList memory;
  for (const std::size_t i : sorted(blocks, first)) {
    for (; blocks[*dead].last < blocks[i].first; ++dead) {
      memory.release(blocks[*dead].offset, blocks[*dead].bytes);
    }
    blocks[i].offset = memory.allocate(blocks[i].bytes);
  }
}

/// The maximum over all steps of the bytes that are live.
std::int64_t max_live_bytes(const std::vector<MemoryBlock>& blocks, int steps) {
  std::vector<std::int64_t> change(static_cast<std::size_t>(steps) + 2, 0);
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

MemoryPlan plan_memory(std::vector<MemoryBlock>& blocks, int steps) {
  for (MemoryBlock& block : blocks) {
    block.bytes = (block.bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  if (blocks.size() < kManyBlocks) {
    assign_by_size(blocks);
  } else {
    assign_by_time(blocks);
  }
  MemoryPlan plan;
  for (const MemoryBlock& block : blocks) {
    plan.bytes = std::max(plan.bytes, block.offset + block.bytes);
  }
  plan.live_bytes = max_live_bytes(blocks, steps);
  return plan;
}

}  // namespace kiln::codegen
