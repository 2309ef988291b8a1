// Values of programs that are called once.
#pragma once

#include "core/ir/graph.h"
#include "runtime/plugin/backend_instance.h"

#include <kiln/array.h>

namespace kiln::runtime {

/// Compiles the graph, calls it, and gives its first output. The executable is kept for a while
/// (keep_recent). A pointwise program (compile/lift_arguments.h) runs over arguments in place of
/// its sizes, seed and constants, unless KILN_DUMP or KILN_DISABLE is set: what the user looks at
/// is the program as it was written. Its errors are those of the program as it was written.
/// REQUIRES: the graph takes no inputs. Throws what compile_staged and call throw.
Array evaluate(const ir::Graph& graph, const InstancePtr& instance);

}  // namespace kiln::runtime
