// How a node is computed point by point: over which domain, and which elements of its operands
// it reads there. Fusion asks it whether nodes fit together, kernels are built from it.
#pragma once

#include "backends/codegen/units.h"

namespace kiln::codegen {

/// An operand at a point: its axes as functions of the node's domain axes.
struct Read {
  ir::Value value;
  IndexMap map;
  bool memory = false;  // reached at other points than the map says: must lie in memory
};

struct Points {
  ir::Dims domain;
  std::vector<bool> reduced;  // all false but for reductions and running reductions
  Role role = Role::Full;
  std::vector<Read> reads;

  bool reduces() const;
};

/// REQUIRES: the node is computed by a kernel. `dense`: it is a view that is written out.
Points points_of(const ir::Node& node, const SizeNames& names, bool dense);

}  // namespace kiln::codegen
