// Gradients of the ops that hold lambdas: Scan (scan_gradient.cpp) and Cond (cond_gradient.cpp).
#pragma once

#include "core/ops/op.h"

namespace kiln::autodiff {

/// The rule of an op of lowering class Control, chosen by the kind of its attributes.
std::vector<ir::Value> control_gradient(const ir::Grad& g);

std::vector<ir::Value> scan_gradient(const ir::Grad& g);
std::vector<ir::Value> cond_gradient(const ir::Grad& g);

/// `roots` with host calls that pass their operand through replaced by that operand: a gradient
/// never repeats a host call.
std::vector<ir::Value> without_host_calls(std::vector<ir::Value> roots);

}  // namespace kiln::autodiff
