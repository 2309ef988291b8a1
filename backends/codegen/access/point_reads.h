// A node's iteration domain, and which elements of its operands it reads at each point.
#pragma once

#include "backends/codegen/access/view.h"

#include <algorithm>

namespace kiln::codegen {

/// How a node's value runs over the domain of its unit.
enum class Role : std::uint8_t {
  Full,     // at every point
  Outer,    // at every point of the axes that are not reduced
  Reduce,   // combined over the reduced axes
  Running,  // combined along the reduced axis, a value at every point
};

/// 0 <= index < limit
struct Bound {
  AxisMap index;
  ir::Dim limit;
  bool operator==(const Bound&) const = default;
};

/// An operand at a point: its axes as functions of the node's domain axes. It is read only where
/// all bounds hold.
struct Read {
  ir::Value value;
  IndexMap map;
  bool memory = false;  // reached at other points than the map says: must lie in memory
  std::vector<Bound> within = {};
};

struct Points {
  ir::Dims domain;
  std::vector<bool> reduced;  // all false but for reductions and running reductions
  Role role = Role::Full;
  std::vector<Read> reads;
  bool is_arg_max = false;  // a reduction to an index along the reduced axis
  /// Where the point's element of the result lies; empty: the points that are not reduced are the
  /// result's elements in order. A point where a bound does not hold has no element.
  IndexMap result = {};
  std::vector<Bound> result_within = {};

  bool reduces() const { return std::find(reduced.begin(), reduced.end(), true) != reduced.end(); }
};

}  // namespace kiln::codegen
