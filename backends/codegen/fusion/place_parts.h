// Tensors that several kernels write parts of: Concat, ScatterAdd, Fold of tiles, column sums. Each
// part is a Placement of a kernel, in the one that makes its value where that is possible; a unit
// without work, which all of them come before, stands for the whole.
#pragma once

#include "backends/codegen/access/points.h"
#include "backends/codegen/fusion/fusion.h"

namespace kiln::codegen {

/// A unit that writes one value everywhere over `target`.
int fill(Fusion& fusion, const ir::Value& scalar, const ir::Value& target);
/// The unit that stands for a node whose parts these units write.
void join_parts(Fusion& fusion, const ir::Node& node, const std::vector<int>& parts);

/// A sum over the axes that the unit does not reduce, of what it reads or makes at every point: the
/// unit adds each row to the result. REQUIRES: can_sum_columns (joining.h).
void place_column_sum(Fusion& fusion, const ir::Node& node, int index, const Read& read,
                      const View& view);
void place_concat(Fusion& fusion, const ir::Node& node);
void place_scatter_add(Fusion& fusion, const ir::Node& node);
/// A Fold whose windows are put side by side. REQUIRES: windows_tile (guarded_points.h).
void place_tiles(Fusion& fusion, const ir::Node& node);

}  // namespace kiln::codegen
