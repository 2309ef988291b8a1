// Shared totals: computed scalars that tensors of several shapes read, or many tensors of one
// shape. A kernel that reduces all its axes computes such a scalar on one thread, and what joins it
// to read the scalar runs there, too, while the readers in other kernels run in parallel.
//
// Example: %4 = sqrt(sum(%0 * %0) + sum(%1 * %1)) of %0[8] and %1[9]; %5 = %0 / %4; %6 = %1 / %4:
// neither %5 nor %6 joins the kernel of %4.
#pragma once

#include "core/ir/node_map.h"

#include <vector>

namespace kiln::codegen {

/// `order`: all nodes, operands first.
ir::NodeSet shared_totals(const std::vector<const ir::Node*>& order);

}  // namespace kiln::codegen
