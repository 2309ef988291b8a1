// Loop transformations before GPU scheduling.
//
// Before: axes [8][16] | [4], no vector axis. After: axes [128] | [4], vector axis 1.
#pragma once

#include "backends/codegen/claims/target_description.h"
#include "backends/codegen/grid/grid_schedule.h"

namespace kiln::codegen {

/// Interchanges the outer axes, chooses the contiguous axis (Kernel::vector_axis), and collapses
/// axes. Float sums may be reassociated; all other values keep their bits.
void shape_for_grid(Kernel& kernel);

/// The target description for kernels that run on this device.
TargetDescription target_of(const GridDescription& device);

}  // namespace kiln::codegen
