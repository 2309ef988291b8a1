// Simplifies the graph, lambdas included. Afterwards no rule of core/rewrite applies anywhere, and
// the operands of commutative ops are in canonical order (constants last).
//
//   Before: %1 = neg %0; %2 = neg %1; %3 = add 1 %2
//   After:  %3 = add %0 1
#pragma once

#include "core/ir/graph.h"

namespace kiln::passes {

ir::Graph simplify(const ir::Graph& graph);

}  // namespace kiln::passes
