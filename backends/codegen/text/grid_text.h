// Kernels with grid schedules as CUDA C++, one __global__ function each.
#pragma once

#include "backends/codegen/grid/grid_schedule.h"

#include <limits>
#include <span>
#include <string>

namespace kiln::codegen {

struct ScheduledKernel {
  const Kernel& kernel;
  const GridSchedule& schedule;
};

/// The functions without the prelude. Each has the parameters: a pointer to each operand, each of
/// Kernel::sizes as s64, the number of points of the parallel axes as s64, with GridSchedule::split
/// those of SplitText, the number of the step as s32, and a pointer to the CallBlock. Above each
/// stand the printed kernel and the printed schedule, every line a comment. Verifies the kernels
/// first.
std::string grid_functions(std::span<const ScheduledKernel> kernels);

/// A whole program for NVRTC: prelude, CallBlock, functions.
std::string grid_text(std::span<const ScheduledKernel> kernels);

/// Data of a call in device memory, as the text declares it: seed, call counter, and the record of
/// an index out of range: that of the lowest step and, within it, of the lowest point. Without one,
/// `access` is -1 and `step` is INT32_MAX. A kernel of a later step than the recorded one writes
/// nothing, so that variables that are updated in place keep their values; the kernel of the same
/// step continues, so that its lowest point is found. `lock`: a spin lock for writing the record.
struct CallBlock {
  std::uint64_t seed = 0, call_counter = 0;
  std::int64_t point = INT64_MAX;
  std::int64_t access = -1, index = 0, limit = 0;
  std::int32_t step = std::numeric_limits<std::int32_t>::max();
  std::uint32_t lock = 0;
};

}  // namespace kiln::codegen
