// Emits running stages (scans) over the inner points of a team of threads.
#pragma once

#include "backends/codegen/text/point_text.h"
#include "backends/codegen/text/reduction_text.h"

#include <functional>

namespace kiln::codegen {

/// Writes the stage to `lines`, as the scan that GridSchedule defines. The enclosing text declares
/// the names of TeamText; `begin_point` writes the indices of inner point `p` and `out_of_range`.
/// REQUIRES: a team of several warps is the only one of its block.
void write_running(const Kernel& kernel, const GridSchedule& schedule, StageId stage,
                   PointText& point, TextLines& lines, const std::function<void()>& begin_point);

}  // namespace kiln::codegen
