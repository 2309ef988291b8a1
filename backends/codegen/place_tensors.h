// Where the temporary tensors of a bound plan lie in its arena.
#pragma once

#include "backends/codegen/binding.h"

namespace kiln::codegen {

/// Fills in offsets, arena_bytes and live_bytes, and the places of the steps' own memory: scratch,
/// spare carries, arenas of bodies. REQUIRES: everything else is bound.
void place_tensors(BoundPlan& bound, const std::vector<BuiltKernel>& kernels);

}  // namespace kiln::codegen
