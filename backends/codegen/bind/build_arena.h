// Builds the arena of a plan for known sizes: offsets of its temporaries and of its steps' scratch.
#pragma once

#include "backends/codegen/bind/arena.h"

namespace kiln::codegen {

/// Packs blocks by their lifetimes (plan/plan_memory.h). A kernel's result takes over the block of
/// an operand of equal size that dies in that kernel, where can_share_buffer() allows it; the two
/// stacks of a carry share a block. `has_own_memory`: 1 for each slot whose memory is elsewhere
/// (cached steps); empty: none. `own`: memory of steps, in the order of steps; each `offset` is
/// set. `bodies`: as in PlanMemory, for the text of the error. Throws SizeFailure when the arena
/// has more than 2^63 - 1 bytes.
Arena build_arena(const Plan& plan, const std::vector<BuiltKernel>& kernels, const SlotSizes& sizes,
                  const std::vector<std::uint8_t>& has_own_memory,
                  const std::vector<StepMemory>& own,
                  const std::vector<PlanMemory::Body>& bodies = {});

}  // namespace kiln::codegen
