// Evaluates programs that are called once.
#pragma once

#include "core/ir/graph.h"
#include "runtime/plugin/backend_instance.h"

#include <kiln/array.h>

namespace kiln::runtime {

/// Compiles the graph, calls it once and returns its first output. Recent executables are kept
/// (keep_recent). A pointwise program is lifted (compile/lift_arguments.h), so that programs that
/// differ only in sizes, seed and constants share an executable; not if KILN_DUMP, KILN_DISABLE
/// or KILN_RECORD is set, as the user then inspects the original program. Errors are those of the
/// original program. REQUIRES: the graph has no inputs. Throws as compile_partitioned and call.
Array evaluate(const ir::Graph& graph, const InstancePtr& instance);

}  // namespace kiln::runtime
