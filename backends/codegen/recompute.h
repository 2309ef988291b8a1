// Comparisons that are made again where they are used, from tensors that lie in memory anyway:
// masks of relu and of maxima, which would be tensors of their own between kernels otherwise.
#pragma once

#include "backends/codegen/units.h"

namespace kiln::codegen {

/// Those of the nodes. `order`: all nodes, operands first.
std::unordered_set<const ir::Node*> recomputed_nodes(const std::vector<const ir::Node*>& order,
                                                     const std::vector<ir::Value>& results,
                                                     const SizeNames& names,
                                                     const FuseOptions& options);

}  // namespace kiln::codegen
