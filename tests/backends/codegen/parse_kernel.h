// Parses the text forms of kernels and grid schedules, so that a test with nothing but CUDA text
// can run it without a GPU (grid_interpreter.h).
#pragma once

#include "backends/codegen/grid/row_loop.h"

#include <string_view>
#include <vector>

namespace kiln::test {

/// The kernel that print(const Kernel&) shows. Each size becomes a fresh symbol with the printed
/// text as its name; an access that nothing reads or writes is lost, but keeps its number. Here and
/// below, throws std::runtime_error with the number and the text of the line that it cannot read.
codegen::Kernel parse_kernel(std::string_view text);

/// The schedule that print(const GridSchedule&) shows.
codegen::GridSchedule parse_schedule(std::string_view line);

struct ParsedKernel {
  codegen::Kernel kernel;
  codegen::GridSchedule schedule;
};

/// The kernels of grid_text or grid_functions, in the order of the functions, from the comments
/// above them.
std::vector<ParsedKernel> parse_grid_text(std::string_view text);
/// The loops that are one kernel, from the comments above their functions.
std::vector<codegen::RowLoop> parse_row_loops(std::string_view text);

/// A loop from its text form, followed by that of each kernel and its schedule.
codegen::RowLoop parse_row_loop(std::string_view text);
/// The text that parse_row_loop() reads.
std::string print_whole(const codegen::RowLoop& loop);

}  // namespace kiln::test
