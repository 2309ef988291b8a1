// Lines of kernels and of their schedules, in texts that hold other lines, too.
#pragma once

#include "backends/codegen/grid/grid_schedule.h"
#include "tests/backends/codegen/line_scanner.h"

#include <span>
#include <string_view>
#include <vector>

namespace kiln::test {

/// Numbered from 1.
std::vector<NumberedLine> lines_of(std::string_view text);
/// As parse_kernel() and parse_schedule().
codegen::Kernel kernel_of(std::span<const NumberedLine> lines);
codegen::GridSchedule schedule_of(LineScanner line);

}  // namespace kiln::test
