// Squares of points whose accesses pass through shared memory: transposes.
#pragma once

#include "backends/codegen/grid/grid_schedule.h"

namespace kiln::codegen {

constexpr int kTileSide = 32;

/// The accesses whose neighbours lie along `tile_axis` and not along the last axis, ascending.
std::vector<int> tile_accesses(const Kernel& kernel, int tile_axis);

/// The reason why the kernel has no tiles along the axis; empty: it has.
std::string tile_reason(const Kernel& kernel, int tile_axis);

/// Makes a schedule of the form Points one of Tile where some access has its neighbours along
/// another axis than the last one and both axes are long enough. False: it leaves it as it is.
bool choose_tile(const Kernel& kernel, const GridDescription& device, GridSchedule& schedule);

/// The shared memory of a block.
std::int64_t tile_bytes(const Kernel& kernel, int tile_axis);

/// The number of tiles for known extents, all above 0.
std::int64_t tile_count(const Kernel& kernel, int tile_axis,
                        const std::function<std::int64_t(const ir::Dim&)>& evaluate);

}  // namespace kiln::codegen
