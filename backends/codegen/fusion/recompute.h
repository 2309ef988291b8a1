// Rematerialisation: cheap nodes over tensors that are in memory anyway are computed in each kernel
// that reads them instead of being stored: comparisons (masks of relu and max), x - mean, and
// selects that only an overlapping Fold reads.
#pragma once

#include "backends/codegen/fusion/units.h"

namespace kiln::codegen {

/// The nodes to rematerialise. `order`: all nodes, operands first.
std::unordered_set<const ir::Node*> recomputed_nodes(const std::vector<const ir::Node*>& order,
                                                     const std::vector<ir::Value>& results,
                                                     const SizeNames& names,
                                                     const FuseOptions& options);

}  // namespace kiln::codegen
