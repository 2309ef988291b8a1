// Grows the arena geometrically, so that sizes that grow from call to call seldom move it.
#include "backends/codegen/host/call_memory.h"

#include "backends/codegen/bind/memory_report.h"
#include "backends/codegen/host/bind/bound_memory.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {

void throw_no_memory(std::int64_t bytes, const char* purpose, const BoundPlan& plan) {
  throw sdk::Failure(KILN_CODE_RESOURCE_EXHAUSTED, text("no memory for ", bytes, " bytes of ",
                                                        purpose, largest_tensors(memory_of(plan))));
}

void CallMemory::prepare(std::shared_ptr<SizedPlan> plan) {
  recycle_list();
  plan_ = std::move(plan);
  const BoundPlan& bound = *plan_->plan;
  if (arena_bytes_ < bound.arena.bytes || !arena_) grow_arena(bound);
  list_ = plan_->acquire_list();
  list_->list.move_to(arena_.get());
}

void CallMemory::recycle_list() {
  if (list_) plan_->recycle_list(std::move(list_));
}

/// The old arena is freed first: nothing in it outlives a call.
void CallMemory::grow_arena(const BoundPlan& plan) {
  const std::int64_t needed = plan.arena.bytes;
  const std::int64_t roomy = std::max(needed, arena_bytes_ + arena_bytes_ / 2);
  arena_.reset();
  arena_bytes_ = 0;
  for (const std::int64_t bytes : {roomy, needed}) {
    arena_ = allocate_aligned(bytes);
    if (!arena_) continue;
    arena_bytes_ = bytes;
    return;
  }
  throw_no_memory(needed, "temporary tensors", plan);
}

}  // namespace kiln::codegen
