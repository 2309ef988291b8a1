// Phases: the number of split reductions that precede a value. The total of a split reduction
// exists only after all its parts have run, so no kernel computes values at points both before and
// after it.
//
// Example: s = sum(x) over 1e6 elements; y = x / s. x is of phase 0, y of phase 1: two kernels.
#pragma once

#include "backends/codegen/fusion/fusion_plan.h"

namespace kiln::codegen {

class Phases {
 public:
  /// `order`: all nodes, operands first.
  Phases(const std::vector<const ir::Node*>& order, const SizeNames& names,
         const FuseOptions& options);

  /// The phase in which the node reads its operands.
  int of(const ir::Node& node) const;
  /// The last phase in which a member of the group reads operands at points.
  int of(const KernelGroup& group) const;

 private:
  ir::NodeMap<int> reads_, results_;
};

}  // namespace kiln::codegen
