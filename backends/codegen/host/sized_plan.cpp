// Lists are as many as calls with these sizes ran concurrently.
#include "backends/codegen/host/sized_plan.h"

namespace kiln::codegen {

void* CountedHeap::do_allocate(std::size_t bytes, std::size_t alignment) {
  void* memory = std::pmr::new_delete_resource()->allocate(bytes, alignment);
  bytes_ += static_cast<std::int64_t>(bytes);
  ++blocks_;
  return memory;
}

void CountedHeap::do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) {
  bytes_ -= static_cast<std::int64_t>(bytes);
  --blocks_;
  std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
}

std::unique_ptr<ListOfPlan> SizedPlan::acquire_list() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<ListOfPlan> list = std::move(idle_.back());
      idle_.pop_back();
      return list;
    }
    idle_.reserve(lists_ + 1);
  }
  auto list = std::make_unique<ListOfPlan>(*plan, ExecutionList::bytes_of(*plan));
  const std::lock_guard lock(mutex_);
  idle_.reserve(++lists_);
  list_bytes_ += list->memory.heap.bytes() + static_cast<std::int64_t>(sizeof(ListOfPlan));
  return list;
}

void SizedPlan::recycle_list(std::unique_ptr<ListOfPlan> list) noexcept {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(list));
}

}  // namespace kiln::codegen
