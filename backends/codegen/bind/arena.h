// The arena of a bound plan: one allocation with an offset for each temporary and each step's
// scratch.
#pragma once

#include "backends/codegen/bind/slot_sizes.h"
#include "backends/codegen/plan/plan_memory.h"

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace kiln::codegen {

/// Temporaries that share memory: each overwrites the one before. Arena::next_slots has those in
/// between.
struct TensorsBlock {
  SlotId first, last;
};
/// The two stacks of a carry: the second begins a slice later.
struct CarryStacksBlock {
  std::array<SlotId, 2> slots;
};
/// Memory that a step uses while it runs: scratch, the second buffer of a carry, the arena of a
/// body.
struct StepBlock {
  enum class Kind : std::uint8_t { Scratch, SpareCarry, Body } kind = Kind::Scratch;
  int step = 0;
};

/// A range of an arena, and what uses it.
struct ArenaBlock {
  MemoryBlock memory;
  std::variant<TensorsBlock, CarryStacksBlock, StepBlock> contents;
};

struct Arena {
  explicit Arena(std::pmr::memory_resource* memory = std::pmr::new_delete_resource())
      : offsets(memory), next_slots(memory), blocks(memory) {}

  /// The slots in a block; none for a StepBlock.
  std::vector<SlotId> slots_of(const ArenaBlock& block) const;

  SlotList<std::int64_t> offsets;  // of each slot; -1: the slot is not in the arena
  SlotList<SlotId> next_slots;     // of each slot: the one that overwrites it in its block
  List<ArenaBlock> blocks;
  std::int64_t bytes = 0;
  std::int64_t live_bytes = 0;  // maximum over all steps of the bytes that are live
};

/// A request for a StepBlock.
struct StepMemory {
  StepBlock use;
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
