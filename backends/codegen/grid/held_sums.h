// Chooses column sums that lanes hold in registers while their team runs consecutive outer points.
//
// Example: y[column] += x[row, column] for the rows of a block, in order. A lane loads its elements
// of y, adds the elements of all rows and then stores the sums.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <optional>

namespace kiln::codegen {

/// An accumulating store of a stage.
struct ColumnSum {
  StageId stage = {};
  std::size_t store = 0;
};

/// The sum of the operand if lanes may hold it: nothing else accesses the operand, and the
/// addresses are the same for all indices along the outer axes but the parallel `axes`.
std::optional<ColumnSum> held_sum(const Kernel& kernel, const std::vector<int>& axes,
                                  OperandId operand);

/// The operands of such sums, ascending: at most as many as fit in `registers` of 32 bits with
/// `points` sums each (points of a lane).
std::vector<OperandId> choose_held_sums(const Kernel& kernel, const std::vector<int>& axes,
                                        std::int64_t points, std::int64_t registers);

}  // namespace kiln::codegen
