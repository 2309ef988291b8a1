// The arena of a bound plan: one allocation with an offset for each temporary and each step's
// scratch.
#pragma once

#include "backends/codegen/bind/slot_sizes.h"
#include "backends/codegen/plan/plan_memory.h"

#include <string>

namespace kiln::codegen {

/// A range of an arena, and what uses it.
struct ArenaBlock {
  enum class Kind : std::uint8_t { Tensors, CarryStacks, Scratch, SpareCarry, Body };
  Kind kind = Kind::Tensors;
  MemoryBlock memory;
  /// Of Tensors: each overwrites the one before. Of CarryStacks: the second begins a slice later.
  std::vector<int> slots;
  int step = 0;  // of the other kinds: the step that uses the memory
};

struct Arena {
  std::vector<std::int64_t> offsets;  // of each slot; -1: the slot is not in the arena
  std::vector<ArenaBlock> blocks;
  std::int64_t bytes = 0;
  std::int64_t live_bytes = 0;  // maximum over all steps of the bytes that are live
};

/// Memory that a step uses while it runs: scratch, the second buffer of a carry, the arena of a
/// body.
struct StepMemory {
  ArenaBlock::Kind kind = ArenaBlock::Kind::Scratch;
  int step = 0;
  std::int64_t bytes = 0;
  std::int64_t* offset = nullptr;  // set by build_arena
};

/// The memory of a bound plan, for reports. The pointers are borrowed.
struct PlanMemory {
  struct Body;

  const Plan* plan = nullptr;
  const SlotSizes* sizes = nullptr;
  const Arena* arena = nullptr;
  std::vector<Body> bodies;  // in the order of steps
};

/// A body of a loop or a branch.
struct PlanMemory::Body {
  int step = 0;      // of the plan that contains the body
  std::string name;  // "body", "then" or "else"
  PlanMemory memory;
};

}  // namespace kiln::codegen
