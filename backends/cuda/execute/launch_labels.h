// Writes the labels of nodes in the dump stage `graph`.
#pragma once

#include "backends/cuda/execute/device_plan.h"
#include "backends/cuda/execute/scheduled_program.h"

#include <string>
#include <vector>

namespace kiln::cuda {

/// Lines of a label; empty ones are left out.
using Label = std::vector<std::string>;

/// The label as a string of the DOT language.
std::string dot_string(const Label& label);

/// "input x", "variable w": by number among the arguments of the program's plan.
std::string name_of_argument(const module::Module& module, std::size_t number);
/// "output 0", "new value of w": by number among the results.
std::string name_of_result(const ir::Graph& graph, std::size_t number);

/// The step with the user's line. `bound`: as print_launches() takes it, of this step.
Label label_of(const ScheduledProgram& program, const codegen::Step& step, const DeviceStep* bound);

}  // namespace kiln::cuda
