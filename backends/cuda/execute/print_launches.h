// The launches of a call as Graphviz text: the dump stage `graph`.
#pragma once

#include "backends/codegen/target.h"
#include "backends/cuda/execute/device_plan.h"

#include <string>
#include <vector>

namespace kiln::cuda {

/// A program and how its kernels are spread over the grid of a device.
struct ScheduledProgram {
  const codegen::LoweredModule& lowered;
  const std::vector<codegen::GridSchedule>& schedules;  // in the order of the kernels
  const codegen::GridDescription& grid;
};

/// A digraph with a node for each step: kernels with their blocks and threads, matmuls, copies,
/// host calls, branches; bodies of loops and branches are clusters. Nodes have the user's lines.
/// Edges are values, named by their slots; dashed edges are memory that is written again. `bound`:
/// the plan with the sizes of a call; null: sizes that are not static are shown by their names, and
/// no temporaries share memory.
std::string print_launches(const ScheduledProgram& program, const DevicePlan* bound);

}  // namespace kiln::cuda
