// Loop fusion. Afterwards no two independent loops of a level run over the same steps with carries
// that have equal initial and next values. This merges a program's forward loop with the augmented
// one that stores residuals for its gradient.
//
//   Before: %c, %y = scan(c0, x): (f(c, x), y);  %c2, %r = scan(c0, x): (f(c, x), r)
//   After:  %c, %y, %r = scan(c0, x): (f(c, x), y, r)
#pragma once

#include "core/ir/graph.h"

namespace kiln::passes {

ir::Graph scan_merge(const ir::Graph& graph);

}  // namespace kiln::passes
