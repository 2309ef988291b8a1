// Phases: the reductions in parts that precede a value. The total of such a reduction ends a phase,
// because no kernel computes values at points both before it and after it.
#pragma once

#include "backends/codegen/fusion/units.h"

namespace kiln::codegen {

class Phases {
 public:
  /// `order`: all nodes, operands first.
  Phases(const std::vector<const ir::Node*>& order, const SizeNames& names,
         const FuseOptions& options);

  /// The phase in which the node reads its operands.
  int of(const ir::Node& node) const;
  /// The last phase in which members of the unit read at points.
  int of(const Unit& unit) const;

 private:
  std::unordered_map<const ir::Node*, int> reads_, results_;
};

}  // namespace kiln::codegen
