// Reverse-mode differentiation as a graph function: it builds ordinary nodes, so its results can be
// differentiated again. The rule of each op is in the op's definition; ops with lambdas are in
// scan_gradient.cpp and cond_gradient.cpp.
#pragma once

#include "core/ops/op.h"

#include <span>
#include <vector>

namespace kiln::autodiff {

struct Vjp {
  /// One per x: the cotangent, of the type of x, or empty where no differentiable path leads from
  /// x to a y.
  std::vector<ir::Value> dx;
};

/// Vector-Jacobian product: given cotangents `dy` of `y` (equal types; an empty one counts as
/// zero), those of `x`. `x` may be any values, also such that others of `x` are computed from.
/// Throws NotImplementedError naming an op that is differentiable but has no rule.
Vjp vjp(std::span<const ir::Value> y, std::span<const ir::Value> dy, std::span<const ir::Value> x);

}  // namespace kiln::autodiff
