// Before: any graph. After: no rule of core/rewrite applies anywhere, lambdas included, and the
// operands of commutative ops are in canonical order (constants last).
#pragma once

#include "core/ir/graph.h"

namespace kiln::passes {

ir::Graph simplify(const ir::Graph& graph);

}  // namespace kiln::passes
