// The order of a kernel's axes for a grid of threads.
//
// Before: axes [8][16] | [4], no lanes. After: axes [128] | [4], lanes along axis 1.
#pragma once

#include "backends/codegen/claims/target_description.h"
#include "backends/codegen/grid/grid_schedule.h"

namespace kiln::codegen {

/// Orders the outer axes, finds the axis of neighbours in memory, and merges axes. Float sums may
/// be reassociated; all other values keep their bits.
void shape_for_grid(Kernel& kernel);

/// The target for kernels that shape_for_grid() shapes and schedule_grid() schedules.
TargetDescription target_of(const GridDescription& device);

}  // namespace kiln::codegen
