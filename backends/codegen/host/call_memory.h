// The memory of one call of an executable: the arena, the execution list over it, and the weights
// that the call holds.
#pragma once

#include "backends/codegen/host/shared_weights.h"
#include "backends/codegen/host/sized_plan.h"

namespace kiln::codegen {

/// Used by one call at a time and reused by later calls of any sizes, so that pages are faulted in
/// once.
class CallMemory {
 public:
  CallMemory() = default;
  ~CallMemory() { recycle_list(); }
  CallMemory(const CallMemory&) = delete;
  CallMemory& operator=(const CallMemory&) = delete;

  /// Prepares a run of the plan: the arena grows to its size, and the list is one of its idle ones.
  /// Allocates nothing if both are there. Throws sdk::Failure (RESOURCE_EXHAUSTED) naming the
  /// largest tensors.
  void prepare(std::shared_ptr<SizedPlan> plan);

  /// REQUIRES for the rest: prepare() has returned.
  ExecutionList& list() { return list_->list; }
  const SizedPlan& plan() const { return *plan_; }

  HeldWeights weights;

 private:
  void recycle_list();
  void grow_arena(const BoundPlan& plan);

  AlignedMemory arena_;
  std::int64_t arena_bytes_ = 0;
  std::shared_ptr<SizedPlan> plan_;
  std::unique_ptr<ListOfPlan> list_;  // of plan_; null: prepare() failed
};

/// Throws sdk::Failure (RESOURCE_EXHAUSTED) for memory of that purpose.
[[noreturn]] void throw_no_memory(std::int64_t bytes, const char* purpose, const BoundPlan& plan);

}  // namespace kiln::codegen
