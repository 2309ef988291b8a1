// Before: any graph. After: no two loops of the same level run over the same steps with carries
// that begin and go on alike, one not needing the other. The forward loop of a program and the one
// that stores its gradient's residuals become one.
//
//   scan(c0, x): (f(c, x); y)  and  scan(c0, x): (f(c, x); r)   become   scan(c0, x): (f(c, x); y,
//   r)
#pragma once

#include "core/ir/graph.h"

namespace kiln::passes {

ir::Graph scan_merge(const ir::Graph& graph);

}  // namespace kiln::passes
