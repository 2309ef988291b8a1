// Prints the steps of a call as Graphviz text, the dump stage `graph`.
#pragma once

#include "backends/cuda/execute/device_plan.h"
#include "backends/cuda/execute/scheduled_program.h"

#include <string>

namespace kiln::cuda {

/// A digraph with a node for each step: kernels with their blocks and threads, matmuls, copies,
/// host calls, branches; bodies of loops and branches are clusters. Nodes have the user's lines.
/// Edges are values, named by their slots; dashed edges are reused memory. `bound`:
/// the plan with the sizes of a call; null: sizes that are not static are shown by their names, and
/// no temporaries share memory.
std::string print_launches(const ScheduledProgram& program, const DevicePlan* bound);

}  // namespace kiln::cuda
