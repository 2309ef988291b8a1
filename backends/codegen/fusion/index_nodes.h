// Values of indices, sizes and constants alone, which are always rematerialised: each kernel that
// reads one recomputes it.
//
// Example: %0 = iota [8]; %1 = less %0 3; a kernel that reads %1[i] computes i < 3.
#pragma once

#include "backends/codegen/access/sizes.h"
#include "core/ir/node_map.h"

#include <vector>

namespace kiln::codegen {

/// Iota, DimSize, and elementwise work and views on those and on scalar constants, unless a chain
/// is so long that computing it once is cheaper. `order`: all nodes, operands first.
ir::NodeSet index_nodes(const std::vector<const ir::Node*>& order, const SizeNames& names);

}  // namespace kiln::codegen
