// Running values along the inner points of a team of threads as text.
#pragma once

#include "backends/codegen/text/point_text.h"
#include "backends/codegen/text/reduction_text.h"

#include <functional>

namespace kiln::codegen {

/// Writes the stage to `lines`, by the tree of GridSchedule. The surrounding text declares the
/// names of TeamText; `begin_point` writes the indices of inner point `p` and `fault`. REQUIRES: a
/// team of several warps is the only one of its block.
void write_running(const Kernel& kernel, const GridSchedule& schedule, int stage, PointText& point,
                   TextLines& lines, const std::function<void()>& begin_point);

}  // namespace kiln::codegen
