// Guards of lambdas in the names that the messages of one function use.
#pragma once

#include "core/ir/graph.h"

namespace kiln::runtime {

/// `graph` with the texts of the guards in its lambdas as they read under the thread's SymbolNames:
/// lambdas are closed before the inputs of a function are known.
ir::Graph with_named_guards(const ir::Graph& graph);

}  // namespace kiln::runtime
