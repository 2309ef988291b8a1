// A lowered program with the grid schedules of its kernels, the input of the dump stage `graph`.
#pragma once

#include "backends/codegen/grid/grid_schedule.h"
#include "backends/codegen/target.h"

#include <vector>

namespace kiln::cuda {

struct ScheduledProgram {
  const codegen::LoweredModule& lowered;
  const std::vector<codegen::GridSchedule>& schedules;  // in the order of the kernels
  const codegen::GridDescription& grid;
};

}  // namespace kiln::cuda
