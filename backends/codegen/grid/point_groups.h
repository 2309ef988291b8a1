// Chooses the points that a thread computes at a time in kernels without inner axes.
#pragma once

#include "backends/codegen/grid/grid_schedule.h"

namespace kiln::codegen {

constexpr int kMaxElements = 16;  // of a vector: 16 bytes
constexpr int kMaxUnroll = 4;

/// Sets `elements` and `unroll` of a schedule of the form Points. Vectors have at most 16 bytes;
/// groups of few points leave threads without work, so that small sizes have smaller groups.
void choose_point_groups(const Kernel& kernel, const GridDescription& device,
                         GridSchedule& schedule);

}  // namespace kiln::codegen
