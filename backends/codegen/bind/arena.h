// The arena of a bound plan: offsets of its temporaries and of its steps' own memory.
#pragma once

#include "backends/codegen/bind/slot_sizes.h"
#include "backends/codegen/plan/plan_memory.h"

#include <string>

namespace kiln::codegen {

/// The tensors or the memory of a step that share one range of an arena.
struct ArenaBlock {
  enum class Kind : std::uint8_t { Tensors, CarryStacks, Scratch, SpareCarry, Body };
  Kind kind = Kind::Tensors;
  MemoryBlock memory;
  /// Of tensors: each is written over the one before. Of stacks: the second begins a slice later.
  std::vector<int> slots;
  int step = 0;  // of the other kinds: the step that uses the memory
};

struct Arena {
  std::vector<std::int64_t> offsets;  // of each slot that is a temporary and not kept; -1: others
  std::vector<ArenaBlock> blocks;
  std::int64_t bytes = 0;
  std::int64_t live_bytes = 0;  // maximum over all steps of the bytes that are live
};

/// Memory of a step itself while it runs: scratch, a spare carry, the arena of a body.
struct StepMemory {
  ArenaBlock::Kind kind = ArenaBlock::Kind::Scratch;
  int step = 0;
  std::int64_t bytes = 0;
  std::int64_t* offset = nullptr;  // set by place_tensors
};

/// The memory of a bound plan as reports read it. The pointers are borrowed.
struct PlanMemory {
  struct Body;

  const Plan* plan = nullptr;
  const SlotSizes* sizes = nullptr;
  const Arena* arena = nullptr;
  std::vector<Body> bodies;  // in the order of steps
};

/// A body of a loop or a branch: "body", "then", "else".
struct PlanMemory::Body {
  int step = 0;  // of the plan that holds the body
  std::string name;
  PlanMemory memory;
};

}  // namespace kiln::codegen
