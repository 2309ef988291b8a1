// Shared by the CTC functions: a loop over time, and operands.
#pragma once

#include "core/k/base/tensor_impl.h"

#include <functional>

namespace kiln {

/// The body of a loop: from the carries and one slice of each sequence to the next carries.
using LoopBody = std::function<std::vector<ir::Value>(std::span<const ir::Value> carries,
                                                      std::span<const ir::Value> slices)>;
/// A Scan over axis 0 of the sequences, which have equal lengths. Results: the last carries, then
/// the carries of all steps, stacked.
ir::NodeRef scan_over(const std::vector<ir::Value>& sequences,
                      const std::vector<ir::Value>& initial, const LoopBody& body);

/// Shifts x by `count` along its last axis; the first `count` elements become `fill`.
ir::Value shifted_by(const ir::Value& x, std::int64_t count, double fill);

/// An integer operand. Throws TypeError for another dtype and ValueError for another rank.
ir::Value integers_of(const Operand& operand, int rank, const char* argument);

/// Lengths of any dtype but bool, for which it throws TypeError.
ir::Value lengths_of(const Operand& operand, const char* argument);
/// Lengths or labels as int64: floating-point ones are truncated; NaN becomes -1, which is invalid.
ir::Value truncated_lengths(const ir::Value& lengths);

}  // namespace kiln
