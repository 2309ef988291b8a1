// What the functions of group O share: a loop over time, and the positions of states.
#pragma once

#include "core/k/frame/tensor_impl.h"

#include <functional>

namespace kiln {

/// From the carries and one slice of each sequence to the next carries.
using LoopBody = std::function<std::vector<ir::Value>(std::span<const ir::Value> carries,
                                                      std::span<const ir::Value> slices)>;
/// A loop over axis 0 of the sequences, which have one length. The results are the last carries,
/// then all of them by step.
ir::NodeRef loop(const std::vector<ir::Value>& initial, const std::vector<ir::Value>& sequences,
                 const LoopBody& body);

/// x moved by `count` along its last axis; the first ones are `fill`.
ir::Value shifted_by(const ir::Value& x, std::int64_t count, double fill);

/// An integer operand of that rank. ValueError, TypeError.
ir::Value integers_of(const Operand& operand, int rank, const char* argument);

/// Lengths of any number dtype. TypeError for bool.
ir::Value lengths_of(const Operand& operand, const char* argument);
/// Lengths or labels as int64: floating point is truncated, and NaN becomes -1, which is neither.
ir::Value whole_lengths(const ir::Value& lengths);

}  // namespace kiln
