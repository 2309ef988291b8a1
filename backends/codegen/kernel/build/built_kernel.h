// A kernel with the graph values and nodes behind it.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <utility>
#include <vector>

namespace kiln::codegen {

struct BuiltKernel {
  Kernel kernel;
  /// The value stored in each operand: an argument, a constant or a value of a fusion group.
  IdVector<OperandId, ir::Value> operands;
  /// For each access with a dynamic index, its gather or scatter node,
  /// which errors name; else null.
  IdVector<AccessId, const ir::Node*> access_nodes;
  /// Extents that must not be 0 when the kernel runs, with the ArgMax that reduces each.
  std::vector<std::pair<ir::Dim, const ir::Node*>> nonempty;
  std::vector<const ir::Node*> nodes = {};  // that it computes, for profiles
};

/// The kernels of a program.
using BuiltKernels = IdVector<KernelId, BuiltKernel>;

}  // namespace kiln::codegen
