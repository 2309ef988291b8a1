// Where the temporary tensors of a bound plan lie in its arena.
#pragma once

#include "backends/codegen/binding.h"

namespace kiln::codegen {

/// The steps, by number, between which a slot is in use; -1 when no step touches it.
struct Lifetime {
  int first = -1, last = -1;
};
/// One per slot of the plan.
std::vector<Lifetime> lifetimes(const Plan& plan, const std::vector<BuiltKernel>& kernels);

/// Fills in offsets, blocks, arena_bytes and live_bytes, and the places of the steps' own memory:
/// scratch, spare carries, arenas of bodies. REQUIRES: everything else is bound. Throws
/// sdk::Failure when an arena would have more bytes than 63 bits count.
void place_tensors(BoundPlan& bound, const std::vector<BuiltKernel>& kernels);

}  // namespace kiln::codegen
