// Memory dependences between the stages of one outer point when lanes divide its inner points, and
// the barriers that order them.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <string>

namespace kiln::codegen {

/// The reason why the inner points of some stage must run in order; empty: lanes may divide them.
std::string order_reason(const Kernel& kernel);

/// Whether stage `later` reads or writes memory that a different lane wrote in stage `earlier`, or
/// writes memory that a different lane read there.
bool needs_barrier(const Kernel& kernel, StageId earlier, StageId later);

/// A minimal set of stages such that a barrier before each of them orders all dependences.
std::vector<StageId> barrier_stages(const Kernel& kernel);

}  // namespace kiln::codegen
