// Emits axis indices from the linear index of a point (delinearisation), and the reverse.
#pragma once

#include "backends/codegen/kernel/kernel.h"
#include "backends/codegen/text/text_lines.h"

#include <string>
#include <vector>

namespace kiln::codegen {

/// Declares the indices `i<axis>` of the axes from `number`, a row-major linear index as an
/// expression of type s64.
void write_digits(const Kernel& kernel, const std::vector<int>& axes, const std::string& number,
                  TextLines& lines);

/// The row-major linear index of an outer point from the indices of its axes.
std::string outer_number(const Kernel& kernel);

/// Declares the lambda `out_of_range` for PointText. It records the value of the variable `point`
/// at the time of the call.
std::string out_of_range_lambda();

}  // namespace kiln::codegen
