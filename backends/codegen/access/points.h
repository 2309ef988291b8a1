// How a node is computed point by point: over which domain, and which elements of its operands
// it reads there. Fusion asks it whether nodes fit together, kernels are built from it.
#pragma once

#include "backends/codegen/access/view.h"

namespace kiln::codegen {

/// How a node's value runs over the domain of its unit.
enum class Role : std::uint8_t {
  Full,     // at every point
  Outer,    // at every point of the axes that are not reduced
  Reduce,   // combined over the reduced axes
  Running,  // combined along the reduced axis, a value at every point
};

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
