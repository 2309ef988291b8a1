// Launches of equal kernels as one launch (GridSchedule::batch): block (x, y) is block x of launch
// y, whose parameters are row y of a table.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <cstdint>

namespace kiln::codegen {

struct GridSchedule;

/// Upper bound on the bytes of a table, which is a parameter of the function; functions have 4096
/// bytes of parameters.
constexpr std::int64_t kTableBytes = 4032;

/// The 64-bit words of a row of the table: the address of each operand, each of Kernel::sizes, the
/// points of the parallel axes, the number of the step.
std::int64_t row_words(const Kernel& kernel);

/// The rows of the table for a kernel that occurs `equal` times in a program: launches are at most
/// so many, and fit the table. 1 where a launch needs memory of its own or may record an index out
/// of range.
int rows_of_table(const Kernel& kernel, const GridSchedule& schedule, std::int64_t equal);

}  // namespace kiln::codegen
