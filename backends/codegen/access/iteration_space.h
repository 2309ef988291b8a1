// The iteration space of a node: the domain that a loop nest runs over to compute it, and the
// elements of its operands that each point reads. Fusion compares spaces; kernels are built from
// them.
//
// Before: %1 = sum %0 axes=[1] : float32[4], %0 : float32[4,8]
// After:  domain [4][8], axis 1 reduced; point (i, j) reads %0[i, j]
#pragma once

#include "backends/codegen/access/view.h"

#include <algorithm>

namespace kiln::codegen {

/// At which points of the domain a node has a value.
enum class Role : std::uint8_t {
  Full,     // at every point
  Outer,    // at every point of the axes that are not reduced
  Reduce,   // one for all points of the reduced axes: their combination
  Running,  // at every point: the combination so far along the reduced axis (cumsum)
};

/// 0 <= index < limit
struct Bound {
  AffineIndex index;
  ir::Dim limit;
  bool operator==(const Bound&) const = default;
};

/// An operand's element at a point of the domain. It is loaded only where all bounds hold.
struct OperandRead {
  ir::Value value;
  AccessMap map;
  /// The element depends on data (Gather), not on `map` alone: the operand must be in memory.
  bool memory = false;
  std::vector<Bound> within = {};
};

struct IterationSpace {
  ir::Dims domain;
  std::vector<bool> reduced;  // all false but for reductions and running reductions
  Role role = Role::Full;
  std::vector<OperandRead> reads;
  bool is_arg_max = false;  // a reduction to an index along the reduced axis
  /// The element of the result that a point computes; empty: the points of the axes that are not
  /// reduced are the result's elements in order. A point where a bound of `result_within` does not
  /// hold computes none.
  AccessMap result = {};
  std::vector<Bound> result_within = {};

  bool reduces() const { return std::find(reduced.begin(), reduced.end(), true) != reduced.end(); }
};

}  // namespace kiln::codegen
