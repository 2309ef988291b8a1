// The bytes of device memory that a kernel moves: a model without a GPU.
#pragma once

#include "backends/codegen/grid/grid_schedule.h"

#include <functional>

namespace kiln::codegen {

struct Traffic {
  std::int64_t read = 0, written = 0;  // bytes

  std::int64_t bytes() const { return read + written; }
};

/// Each element that the kernel touches, once read and once written where it is both. Guards and
/// dynamic indices count as if they touched all that they may, at most one element a point.
Traffic least_traffic(const Kernel& kernel,
                      const std::function<std::int64_t(const ir::Dim&)>& evaluate);

/// The same under a schedule. A group of stages reads again what an earlier one read, unless it is
/// kept or is the same at all inner points; within a group, elements stay in caches. Neighbouring
/// threads that use every n-th element move whole sectors of 32 bytes.
Traffic traffic_of(const Kernel& kernel, const GridSchedule& schedule,
                   const std::function<std::int64_t(const ir::Dim&)>& evaluate);

}  // namespace kiln::codegen
