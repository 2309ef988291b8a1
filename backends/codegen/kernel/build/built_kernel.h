// A kernel with what it stands for in the graph.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <utility>
#include <vector>

namespace kiln::codegen {

struct BuiltKernel {
  Kernel kernel;
  /// Whose memory each operand is: arguments, constants and stored values.
  std::vector<ir::Value> operands;
  /// For each access with a dynamic index, the node that asked for it (else null): errors name it.
  std::vector<const ir::Node*> access_nodes;
  /// Extents that must not be 0 when the kernel runs: those that an ArgMax runs along.
  std::vector<std::pair<ir::Dim, const ir::Node*>> nonempty;
};

}  // namespace kiln::codegen
