// Before: invariants are outside of loops. After: no two products inside a loop share one operand
// while their other operands are invariants that could stand side by side.
//
//   scan: dot(h, u) .. dot(h, v)   becomes
//   let w = concat(u, v) in scan: let p = dot(h, w) in slice(p, u's part) .. slice(p, v's part)
#pragma once

#include "core/ir/graph.h"

namespace kiln::passes {

ir::Graph scan_merge_gates(const ir::Graph& graph);

}  // namespace kiln::passes
