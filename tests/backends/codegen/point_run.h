// Visits the points of kernels without inner axes, in groups or tiles, as GridSchedule says.
#pragma once

#include "backends/codegen/grid/grid_schedule.h"
#include "tests/backends/codegen/thread_order.h"

#include <functional>

namespace kiln::test {

struct PointGrid {
  std::int64_t points = 0, blocks = 0;  // of GridLaunch
  std::vector<std::int64_t> extents;    // of the axes
  ThreadOrder order = ThreadOrder::Ascending;
};

/// Calls visit(number) for each point, thread after thread. Schedule: Points or Tile.
void visit_points(const codegen::GridSchedule& schedule, const PointGrid& grid,
                  const std::function<void(std::int64_t number)>& visit);

}  // namespace kiln::test
