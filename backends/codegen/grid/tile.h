// Squares of points whose accesses pass through shared memory: transposes.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <functional>

namespace kiln::codegen {

constexpr int kTileSide = 32;

/// The accesses whose stride is 1 along `tile_axis` and not 0, 1 or -1 along the last axis,
/// ascending.
std::vector<int> tile_accesses(const Kernel& kernel, int tile_axis);

/// The reason why the kernel has no tiles along the axis; empty: it has.
std::string tile_reason(const Kernel& kernel, int tile_axis);

/// The axis whose tile_accesses() move the most bytes for each point, among those where that axis
/// and the last one are long enough or symbolic and tiles fit `shared_bytes`; -1: none.
int choose_tile_axis(const Kernel& kernel, std::int64_t shared_bytes);

/// The shared memory of a block.
std::int64_t tile_bytes(const Kernel& kernel, int tile_axis);

/// The number of tiles for known extents. REQUIRES: all are above 0.
std::int64_t tile_count(const Kernel& kernel, int tile_axis,
                        const std::function<std::int64_t(const ir::Dim&)>& evaluate);

}  // namespace kiln::codegen
