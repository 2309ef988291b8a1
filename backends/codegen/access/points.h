// How a node is computed point by point: over which domain, and which elements of its operands
// it reads there. Fusion asks it whether nodes fit together, kernels are built from it.
#pragma once

#include "backends/codegen/access/point_reads.h"

namespace kiln::codegen {

/// REQUIRES: the node is computed by a kernel. `dense`: it is a view that is written out.
Points points_of(const ir::Node& node, const SizeNames& names, bool dense);

}  // namespace kiln::codegen
