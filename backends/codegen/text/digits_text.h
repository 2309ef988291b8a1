// Indices of axes from the number of a point as text.
#pragma once

#include "backends/codegen/kernel/kernel.h"
#include "backends/codegen/text/text_lines.h"

#include <string>
#include <vector>

namespace kiln::codegen {

/// Declares the indices `i<axis>` of the axes, whose points are numbered row-major; `number` is an
/// expression of type s64.
void write_digits(const Kernel& kernel, const std::vector<int>& axes, const std::string& number,
                  TextLines& lines);

/// The number of an outer point among all of them, row-major, from the indices of its axes.
std::string outer_number(const Kernel& kernel);

/// Declares `fault` for PointText, which records the value that the variable `point` has when
/// `fault` is called.
std::string fault_text();

}  // namespace kiln::codegen
