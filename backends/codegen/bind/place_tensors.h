// Offsets of the temporary tensors of a plan in one arena.
#pragma once

#include "backends/codegen/bind/arena.h"

namespace kiln::codegen {

/// Places temporaries by their lifetimes. A kernel's result takes the block of an operand that dies
/// in that kernel where it may be written over it; the two stacks of a carry share a block.
/// `is_kept`: 1 for each slot that has memory elsewhere; empty: none.
/// `own`: memory of steps, in the order of steps; each `offset` is set.
/// `bodies`: as in PlanMemory, for the text of the error.
/// Throws SizeFailure for an arena of more bytes than 63 bits count.
Arena place_tensors(const Plan& plan, const std::vector<BuiltKernel>& kernels,
                    const SlotSizes& sizes, const std::vector<std::uint8_t>& is_kept,
                    const std::vector<StepMemory>& own,
                    const std::vector<PlanMemory::Body>& bodies = {});

}  // namespace kiln::codegen
