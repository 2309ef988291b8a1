// Runs a bound plan: executes its instructions in order, without allocations and look-ups.
#pragma once

#include "backends/codegen/host/call_memory.h"
#include "backends/codegen/host/run_context.h"

namespace kiln::codegen {

/// REQUIRES: the addresses of arguments and results are set in `memory.list()`, and no other call
/// uses `memory`. Throws sdk::Failure; no state has been overwritten then.
void run_plan(CallMemory& memory, const RunContext& context);

}  // namespace kiln::codegen
