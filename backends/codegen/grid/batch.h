// Launches of equal kernels as one launch (GridSchedule::batch): a table has a row of parameters
// for each of them and the number of its first block; the blocks of a row follow those of the row
// before.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <cstdint>

namespace kiln::codegen {

struct GridSchedule;

/// Upper bound on the bytes of a table, which is a parameter of the function; functions have 4096
/// bytes of parameters.
constexpr std::int64_t kTableBytes = 4032;

/// The last word of a row.
struct BatchBlocks {
  std::int32_t first = INT32_MAX;  // in a row without a launch: no block has that number
  std::int32_t count = 0;
};

/// The 64-bit words of a row of the table: the address of each operand, each of Kernel::sizes, the
/// points of the parallel axes, BatchBlocks.
std::int64_t row_words(const Kernel& kernel);

/// The rows of the table for a kernel that occurs `equal` times in a program: launches are at most
/// so many, and fit the table. 1 where a launch needs memory of its own or may record an index out
/// of range.
int rows_of_table(const Kernel& kernel, const GridSchedule& schedule, std::int64_t equal);

}  // namespace kiln::codegen
