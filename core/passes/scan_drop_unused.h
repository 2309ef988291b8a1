// Before: any graph. After: each result of a Scan is read, each carry leads to one that is, each
// input is read by the body, and no output is written twice.
#pragma once

#include "core/ir/graph.h"

namespace kiln::passes {

ir::Graph scan_drop_unused(const ir::Graph& graph);

}  // namespace kiln::passes
