// Renames sizes in the messages of guards in lambdas, as one function names them.
#pragma once

#include "core/ir/graph.h"

namespace kiln::runtime {

/// Returns `graph` with the messages of guards in its lambdas formatted again under the thread's
/// SymbolNames: lambdas are built before the inputs of a function, which name its sizes, are known.
/// Before: guard of a body "operator+: size x.0 of axis 0 is not 3"
/// After:  "operator+: size input_1.0 of axis 0 is not 3", the size of the unnamed inputs[1]
ir::Graph with_named_guards(const ir::Graph& graph);

}  // namespace kiln::runtime
