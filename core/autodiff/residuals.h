// Which values of a forward body the backward body needs, and for each whether it is stored or
// computed again: the one cost function of the gradient of Scan.
#pragma once

#include "core/ir/node.h"

#include <span>
#include <unordered_set>

namespace kiln::autodiff {

using ValueSet = std::unordered_set<ir::Value, ir::ValueHash>;

/// `gradients`: the backward results, built on forward values and cotangent parameters.
/// `cotangents`: those parameters. `free`: forward parameters that the backward body has anyway
/// (the step number, consts and xs). Returns the forward values to store, in topological order;
/// whatever else the backward body needs can be computed from these and the free ones.
/// Stored: results of contractions, reductions, transcendental functions and the carry. Computed
/// again: leaves and random draws (by position), movement, and cheap scalar expressions of values
/// that are there anyway.
std::vector<ir::Value> choose_residuals(std::span<const ir::Value> gradients,
                                        const ValueSet& cotangents, const ValueSet& free);

}  // namespace kiln::autodiff
