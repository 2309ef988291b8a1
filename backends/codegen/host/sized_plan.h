// A plan bound to one tuple of sizes, with the execution lists that idle calls have returned.
#pragma once

#include "backends/codegen/host/execution_list.h"

#include <atomic>
#include <mutex>

namespace kiln::codegen {

/// Allocates from the heap and counts the blocks and their bytes.
class CountedHeap final : public std::pmr::memory_resource {
 public:
  std::int64_t bytes() const { return bytes_; }
  std::int64_t blocks() const { return blocks_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::int64_t bytes_ = 0, blocks_ = 0;
};

/// Memory that only grows, in blocks of which the first has `bytes` bytes.
struct BoundMemory {
  explicit BoundMemory(std::int64_t bytes)
      : blocks(static_cast<std::size_t>(std::max(bytes, std::int64_t{1024})), &heap) {}

  CountedHeap heap;
  std::pmr::monotonic_buffer_resource blocks;
};

/// An execution list with its memory.
struct ListOfPlan {
  ListOfPlan(const BoundPlan& plan, std::int64_t bytes)
      : memory(bytes), list(plan, &memory.blocks) {}

  BoundMemory memory;
  ExecutionList list;
};

class SizedPlan {
 public:
  /// `bytes`: an estimate of the memory that binding needs.
  explicit SizedPlan(std::int64_t bytes) : memory(bytes) {}

  /// An idle list, or a new one.
  std::unique_ptr<ListOfPlan> acquire_list();
  void recycle_list(std::unique_ptr<ListOfPlan> list) noexcept;
  /// The memory of the plan and of its lists.
  std::int64_t bytes() const {
    return memory.heap.bytes() + plan->retained_bytes + list_bytes_.load(std::memory_order_relaxed);
  }

  BoundMemory memory;  // of `plan`
  BoundPlanPtr plan;
  std::uint64_t number = 0;  // in order of binding, from 1

 private:
  std::mutex mutex_;  // of idle_ and lists_
  std::vector<std::unique_ptr<ListOfPlan>> idle_;
  std::size_t lists_ = 0;                   // idle or not; idle_ has room for all
  std::atomic<std::int64_t> list_bytes_{0};
};

}  // namespace kiln::codegen
