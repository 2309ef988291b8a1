// Nodes that are computed from indices, sizes and constants alone: each kernel that reads them
// computes them itself.
#pragma once

#include "backends/codegen/access/sizes.h"

#include <unordered_set>
#include <vector>

namespace kiln::codegen {

/// Iota, DimSize, and elementwise work and views on those and on constants. A node that takes many
/// steps is none of them: it is computed once. `order`: all nodes, operands first.
std::unordered_set<const ir::Node*> index_nodes(const std::vector<const ir::Node*>& order,
                                                const SizeNames& names);

}  // namespace kiln::codegen
