// The iteration space of every kind of node that a kernel computes.
#pragma once

#include "backends/codegen/access/iteration_space.h"

namespace kiln::codegen {

/// `dense`: the node is a view or a rematerialised value that is copied to a dense tensor.
/// REQUIRES: a kernel computes the node.
IterationSpace iteration_space(const ir::Node& node, const SizeNames& names, bool dense);

}  // namespace kiln::codegen
