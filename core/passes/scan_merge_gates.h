// Merges matmuls of a loop that share an operand, as the gates of an LSTM or GRU do: one matmul
// with the concatenated weights. REQUIRES: invariants are hoisted. Afterwards no two matmuls in a
// loop share one operand while their other operands are invariants that can be concatenated, unless
// a carry depends on one of them and only outputs on the other.
//
//   Before: scan: { %1 = dot %h %u; %2 = dot %h %v }
//   After:  %w = concat %u %v; scan: { %p = dot %h %w; %1 = %p[:, u's part]; %2 = %p[:, v's part] }
#pragma once

#include "core/ir/graph.h"

namespace kiln::passes {

ir::Graph scan_merge_gates(const ir::Graph& graph);

}  // namespace kiln::passes
