// Models the bytes of device memory that a kernel moves.
#pragma once

#include "backends/codegen/grid/grid_schedule.h"

#include <functional>

namespace kiln::codegen {

struct Traffic {
  std::int64_t read = 0, written = 0;  // bytes

  std::int64_t bytes() const { return read + written; }
};

/// Compulsory traffic, a lower bound: each element that the kernel reads and each that it writes
/// counts once, with its sector of 32 bytes where no adjacent element is accessed. Guarded and
/// dynamic accesses count every element that they may access, at most one per point.
Traffic compulsory_traffic(const Kernel& kernel,
                           const std::function<std::int64_t(const ir::Dim&)>& evaluate);

/// The bytes under a schedule. A group of stages reloads the elements of earlier groups, unless the
/// values are kept in registers or are the same at all inner points; within a group, elements stay
/// in caches. Strided accesses of consecutive threads move whole sectors of 32 bytes. Each unit of
/// Owners reads the index list; lists of up to 1 MiB stay in the cache of the device. Partial
/// results of split reductions are written and read once.
Traffic traffic_of(const Kernel& kernel, const GridSchedule& schedule,
                   const std::function<std::int64_t(const ir::Dim&)>& evaluate,
                   const GridDescription& device = {});

}  // namespace kiln::codegen
