// The mapping of a kernel's iteration domain to a grid of blocks of threads.
#pragma once

#include "backends/codegen/kernel/kernel.h"

#include <functional>

namespace kiln::codegen {

enum class GridForm : std::uint8_t {
  Points,  // a thread computes one outer point; there are no inner axes
  Serial,  // a thread runs the loops of the other axes at its point, in their order
};

/// Of one kernel. The points of the first `parallel_axes` axes are numbered row-major; thread t of
/// a grid of T threads computes points t, t + T, ... The loops of the axes behind those run inside
/// of a thread.
struct GridSchedule {
  GridForm form = GridForm::Points;
  int threads = 256;      // of a block
  int parallel_axes = 0;  // 0: one thread computes all
};

/// The limits of a device.
struct GridDescription {
  int max_threads = 1024;  // of a block
  std::int64_t max_blocks = (std::int64_t{1} << 31) - 1;
  std::int64_t multiprocessors = 132;
  int resident_threads = 2048;  // of one multiprocessor
};

/// A pure function of its arguments. Additions to one element keep the order that Store demands:
/// points that may meet at an element belong to one thread.
GridSchedule schedule_grid(const Kernel& kernel, const GridDescription& device);

/// The grid for known sizes.
struct GridLaunch {
  std::int64_t points = 0;  // of the parallel axes; 0: nothing to launch
  std::int64_t blocks = 0;
};
GridLaunch launch_of(const Kernel& kernel, const GridSchedule& schedule,
                     const GridDescription& device,
                     const std::function<std::int64_t(const ir::Dim&)>& evaluate);

/// Throws InternalError naming the kernel and the broken rule: blocks fit the device, each outer
/// point is computed by one thread, and no two threads add to one element.
void verify(const Kernel& kernel, const GridSchedule& schedule, const GridDescription& device);

/// One line, as dumps show it.
std::string print(const GridSchedule& schedule);

}  // namespace kiln::codegen
