// Runs an attention step: its parts, divided among a bounded number of runs.
#pragma once

#include "backends/codegen/host/execution_list.h"
#include "backends/codegen/host/run_context.h"

namespace kiln::codegen {

void run_attention(const AttentionStep& step, const BoundAttention& bound,
                   const ExecutionList& list, const RunContext& context);

}  // namespace kiln::codegen
