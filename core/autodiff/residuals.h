// Chooses the residuals of a Scan's gradient: the forward values that the backward body needs and
// that are stored rather than rematerialised. This is the only cost model of the gradient of Scan.
#pragma once

#include "core/ir/node.h"

#include <span>
#include <unordered_set>

namespace kiln::autodiff {

using ValueSet = std::unordered_set<ir::Value, ir::ValueHash>;

/// Returns the forward values to store, in topological order. All other forward values that the
/// backward body needs can be computed from these and the available ones.
///
/// `gradients`: results of the backward body, built on forward values and cotangent parameters.
/// `cotangents`: those parameters. `available`: forward parameters that the backward body has, too:
/// the step number, consts and xs.
///
/// Stored: results of contractions, reductions and transcendental functions, and carries.
/// Rematerialised: leaves and random draws (which their position determines), movement, and cheap
/// scalar expressions of values that are available or stored anyway.
std::vector<ir::Value> choose_residuals(std::span<const ir::Value> gradients,
                                        const ValueSet& cotangents, const ValueSet& available);

}  // namespace kiln::autodiff
