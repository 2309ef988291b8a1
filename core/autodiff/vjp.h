// Reverse-mode differentiation as a graph transformation. It builds ordinary nodes, so that results
// can be differentiated again. Ops define their gradient rules; those of Scan and Cond are here.
#pragma once

#include "core/ops/op.h"

#include <span>
#include <vector>

namespace kiln::autodiff {

struct Vjp {
  /// The cotangent of each x, with the type of x; empty if no differentiable path leads from x to a
  /// y.
  std::vector<ir::Value> dx;
};

/// Vector-Jacobian product: the cotangents of `x`, given the cotangents `dy` of `y`, which have the
/// types of `y`; an empty one counts as zero. `x` may be any values, even ones that depend on each
/// other. Throws NotImplementedError, which names it, for a differentiable op without a rule.
///
///   y = dot(x, w):   vjp({y}, {dy}, {x, w}).dx is {dot(dy, w^T), dot(x^T, dy)}
Vjp vjp(std::span<const ir::Value> y, std::span<const ir::Value> dy, std::span<const ir::Value> x);

}  // namespace kiln::autodiff
