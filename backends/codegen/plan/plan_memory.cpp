// Greedy by size: within a few percent of the largest live set for the graphs of training steps.
// It compares all pairs of blocks; very many go by time instead, into the holes that dead ones
// leave.
#include "backends/codegen/plan/plan_memory.h"


#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace kiln::codegen {
namespace {

constexpr std::size_t kManyBlocks = 8192;

template <class Less>
std::vector<std::size_t> sorted(const std::vector<MemoryBlock>& blocks, const Less& less) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return less(blocks[a], blocks[b]);
  });
  return order;
}

/// The largest first, each at the lowest place that no block alive at the same time has.
void place_by_size(std::vector<MemoryBlock>& blocks) {
  const auto larger = [](const MemoryBlock& a, const MemoryBlock& b) { return a.bytes > b.bytes; };
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t i : sorted(blocks, larger)) {
    MemoryBlock& block = blocks[i];
    std::int64_t offset = 0;
    for (const std::size_t j : placed) {
      const MemoryBlock& other = blocks[j];
      if (other.last < block.first || block.last < other.first) continue;
      if (other.offset >= offset + block.bytes) break;
      offset = std::max(offset, other.offset + other.bytes);
    }
    block.offset = offset;
    const auto at = std::upper_bound(
        placed.begin(), placed.end(), offset,
        [&](std::int64_t value, std::size_t j) { return value < blocks[j].offset; });
    placed.insert(at, i);
  }
}

/// Memory that is not in use, below an end that grows.
class Holes {
 public:
  /// The smallest hole that is large enough, at its lower end.
  std::int64_t take(std::int64_t bytes) {
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

  void give(std::int64_t offset, std::int64_t bytes) {
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

void place_by_time(std::vector<MemoryBlock>& blocks) {
  const auto first = [](const MemoryBlock& a, const MemoryBlock& b) { return a.first < b.first; };
  const auto last = [](const MemoryBlock& a, const MemoryBlock& b) { return a.last < b.last; };
  const std::vector<std::size_t> deaths = sorted(blocks, last);
  auto dead = deaths.begin();
  Holes holes;
  for (const std::size_t i : sorted(blocks, first)) {
    for (; blocks[*dead].last < blocks[i].first; ++dead) {
      holes.give(blocks[*dead].offset, blocks[*dead].bytes);
    }
    blocks[i].offset = holes.take(blocks[i].bytes);
  }
}

/// The most that is alive at one step.
std::int64_t most_alive(const std::vector<MemoryBlock>& blocks, int steps) {
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
    place_by_size(blocks);
  } else {
    place_by_time(blocks);
  }
  MemoryPlan plan;
  for (const MemoryBlock& block : blocks) {
    plan.bytes = std::max(plan.bytes, block.offset + block.bytes);
  }
  plan.live_bytes = most_alive(blocks, steps);
  return plan;
}

}  // namespace kiln::codegen
