// Gradient rules of the ops that hold lambdas: Scan (scan_gradient.cpp) and Cond
// (cond_gradient.cpp).
#pragma once

#include "core/ops/op.h"

namespace kiln::autodiff {

std::vector<ir::Value> scan_gradient(const ir::Grad& g);
std::vector<ir::Value> cond_gradient(const ir::Grad& g);

/// Replaces host calls that return their operand, such as print_tensor, by the operand: a gradient
/// that rematerialises a body must not repeat its side effects.
std::vector<ir::Value> without_host_calls(std::vector<ir::Value> roots);

}  // namespace kiln::autodiff
