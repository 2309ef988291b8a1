// Runs a row update step (sparse ScatterSub): sorts the indices of all updates, then writes rows.
#pragma once

#include "backends/codegen/host/run_context.h"
#include "backends/codegen/host/execution_list.h"

namespace kiln::codegen {

/// Checks the indices of all updates before the first write; the parts of an update run in
/// parallel, each row on one thread. Throws sdk::Failure (OUT_OF_RANGE), with nothing written.
void run_row_updates(const RowUpdateStep& step, const BoundRowUpdates& bound,
                     const ExecutionList& list, const RunContext& context);

}  // namespace kiln::codegen
