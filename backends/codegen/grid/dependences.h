// Memory that the stages of one outer point share, for lanes that divide its inner points.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <string>

namespace kiln::codegen {

/// Why the inner points of a stage must run in order; empty: lanes may divide those of every stage.
std::string order_reason(const Kernel& kernel);

/// Whether stage `later` touches memory that a different lane wrote in stage `earlier`, or writes
/// memory that a different lane touched there.
bool needs_barrier(const Kernel& kernel, int earlier, int later);

/// The stages that need a barrier before them, as few as possible.
std::vector<int> barrier_stages(const Kernel& kernel);

}  // namespace kiln::codegen
