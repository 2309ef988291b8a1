// Runs a step that calls a function of the host.
#pragma once

#include "backends/codegen/host/execution_list.h"
#include "backends/codegen/host/run_context.h"

namespace kiln::codegen {

/// Calls the host with views of the operands and results in the list's slots. Throws sdk::Failure
/// with the K function and line of the step if the host fails.
void run_host_call(const HostCallStep& step, const ExecutionList& list, const RunContext& context);

}  // namespace kiln::codegen
