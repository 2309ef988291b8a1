// Runs a row update step: sorts the entries of all updates, then writes rows.
#pragma once

#include "backends/codegen/host/run_context.h"
#include "backends/codegen/host/tape.h"

namespace kiln::codegen {

/// Checks the indices of all updates before the first write. The parts of an update run in
/// parallel. Throws sdk::Failure (OUT_OF_RANGE) with nothing written.
void run_row_updates(const RowUpdateStep& step, const BoundRowUpdates& bound, const Tape& tape,
                     const RunContext& context);

}  // namespace kiln::codegen
