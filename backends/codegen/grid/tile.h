// GridForm::Tile: transposes. Loads and stores that are strided across a warp are staged as square
// tiles in shared memory, so that both sides of the transpose are coalesced.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <functional>

namespace kiln::codegen {

constexpr int kTileSide = 32;

/// The transposed accesses, ascending: stride 1 along `tile_axis`, not
/// 0, 1 or -1 along the last axis.
std::vector<AccessId> tile_accesses(const Kernel& kernel, int tile_axis);

/// The reason why the kernel cannot be tiled along the axis; empty: it can.
std::string tile_reason(const Kernel& kernel, int tile_axis);

/// The axis whose tile_accesses() move the most bytes per point, among axes for which tiles fit in
/// `shared_bytes`; -1: none. Both sides of the tile must be long enough, or symbolic.
int choose_tile_axis(const Kernel& kernel, std::int64_t shared_bytes);

/// The shared memory of a block.
std::int64_t tile_bytes(const Kernel& kernel, int tile_axis);

/// The number of tiles for known extents. REQUIRES: all extents are above 0.
std::int64_t tile_count(const Kernel& kernel, int tile_axis,
                        const std::function<std::int64_t(const ir::Dim&)>& evaluate);

}  // namespace kiln::codegen
