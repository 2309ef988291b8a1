// Builds the arena of a plan for known sizes: offsets of its temporaries and of its steps' scratch.
#pragma once

#include "backends/codegen/bind/arena.h"
#include "backends/codegen/bind/plan_facts.h"

#include <span>

namespace kiln::codegen {

/// Lists bodies as in PlanMemory, for the text of an error.
using ListBodies = std::function<std::vector<PlanMemory::Body>()>;

/// Packs blocks by their lifetimes (plan/plan_memory.h). A kernel's result takes over the block of
/// an operand of equal size that dies in that kernel, where can_share_buffer() allows it; the two
/// stacks of a carry share a block. Results of cached steps have memory elsewhere. `own`: memory of
/// steps, in the order of steps; each `offset` is set. Throws SizeFailure when the arena has more
/// than 2^63 - 1 bytes.
Arena build_arena(const Plan& plan, const PlanFacts& facts, const SlotSizes& sizes,
                  std::span<const StepMemory> own, const ListBodies& bodies,
                  const BindMemory& memory = {});

}  // namespace kiln::codegen
