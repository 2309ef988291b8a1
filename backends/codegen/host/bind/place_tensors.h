// Where the temporary tensors of a bound plan lie in its arena.
#pragma once

#include "backends/codegen/host/bind/bound_plan.h"

namespace kiln::codegen {

/// Fills in offsets, blocks, arena_bytes and live_bytes, and the places of the steps' own memory:
/// scratch, spare carries, arenas of bodies. REQUIRES: everything else is bound. Throws
/// sdk::Failure when an arena would have more bytes than 63 bits count.
void place_tensors(BoundPlan& bound, const std::vector<BuiltKernel>& kernels);

}  // namespace kiln::codegen
