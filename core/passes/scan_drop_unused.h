// Eliminates dead parts of loops. Afterwards each result of a Scan is read, each carry contributes
// to one that is, each input is read by the body, and no output is written twice.
//
//   Before: %c, %d, %y, %z = scan(%x, %v): { .. stack y, y }, where only %c and %z are read
//   After:  %c, %z = scan(%x): { .. stack y }, where %d and %v contributed to neither
#pragma once

#include "core/ir/graph.h"

namespace kiln::passes {

ir::Graph scan_drop_unused(const ir::Graph& graph);

}  // namespace kiln::passes
