// What is made again where it is used, from tensors that lie in memory anyway, and would be a
// tensor of its own between kernels otherwise: masks of relu and of maxima, deviations from means.
#pragma once

#include "backends/codegen/fusion/units.h"

namespace kiln::codegen {

/// Those of the nodes. `order`: all nodes, operands first.
std::unordered_set<const ir::Node*> recomputed_nodes(const std::vector<const ir::Node*>& order,
                                                     const std::vector<ir::Value>& results,
                                                     const SizeNames& names,
                                                     const FuseOptions& options);

}  // namespace kiln::codegen
