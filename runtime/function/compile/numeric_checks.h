// Inserts host calls that check values for NaN and infinities (FunctionOptions::check_numerics).
#pragma once

#include "core/ir/graph.h"

namespace kiln::runtime {

/// Inserts a call of the host function "check_numerics" after each value that an op computes, also
/// in loops and branches, and after each variable and each of the first `fed` inputs. The users of
/// a value read the call's result, so that a value is checked before all values computed from it.
/// Ops that only move elements are not followed by a check, as they create no value.
/// Before: %0 = log x;  %1 = reshape %0;  outputs {%1}
/// After:  %0 = host_call "check_numerics" "placeholder x at m.cpp:2 was fed" x
///         %1 = log %0
///         %2 = host_call "check_numerics" "op log at m.cpp:3 gives" %1 %0
///         %3 = reshape %2;  outputs {%3}
/// The operands of a call are the value, the floating-point operands of its op, then the step
/// number of each enclosing loop, outermost first. REQUIRES: no host call of the graph determines
/// dims (graph_partition.h).
ir::Graph with_numeric_checks(const ir::Graph& graph, std::size_t fed);

}  // namespace kiln::runtime
