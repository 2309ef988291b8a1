// Emits scheduled kernels as CUDA C++, one __global__ function each.
#pragma once

#include "backends/codegen/grid/row_loop.h"

#include <limits>
#include <span>
#include <string>
#include <vector>

namespace kiln::codegen {

struct ScheduledKernel {
  const Kernel& kernel;
  const GridSchedule& schedule;
};

/// The functions without the prelude. The parameters of each: a pointer to each operand, each of
/// Kernel::sizes as s64, the number of points of the parallel axes as s64, those of SplitText (with
/// GridSchedule::split_k), the number of the step as s32, and a pointer to the CallBlock. With
/// GridSchedule::batch: a table of rows (batch.h), the number of the first step, and the CallBlock.
/// The text of kernel and schedule precedes each function as comments. Verifies the kernels first.
/// RowLoop has the parameters of a loop's function.
std::string grid_functions(std::span<const ScheduledKernel> kernels,
                           std::span<const RowLoop> loops = {});

/// A complete program for NVRTC: prelude, CallBlock, functions.
std::string grid_text(std::span<const ScheduledKernel> kernels,
                      std::span<const RowLoop> loops = {});

/// A complete program with some of the functions.
struct GridTextPart {
  std::string text;
  std::vector<std::string> functions;  // their names
};

/// The functions of grid_text() in programs of about equal length, at most `max_parts`, which can
/// be compiled at the same time. Few short functions are not divided.
std::vector<GridTextPart> grid_texts(std::span<const ScheduledKernel> kernels,
                                     std::span<const RowLoop> loops, std::size_t max_parts);

/// The state of a call in device memory, with the layout that the text declares: seed, call
/// counter, and the first index out of range, by step, then by point. Without one, `access` is -1
/// and `step` is INT32_MAX. Kernels of later steps than the recorded one write nothing, so that
/// variables that are updated in place keep their values; the kernel of the recorded step runs to
/// its end, so that its lowest point is found. So does a loop in which it was recorded. Programs
/// without dynamic indices do not read `step`. `lock`: a spin lock for writing the record.
struct CallBlock {
  std::uint64_t seed = 0, call_counter = 0;
  std::int64_t point = INT64_MAX;
  std::int64_t access = -1, index = 0, limit = 0;
  std::int32_t step = std::numeric_limits<std::int32_t>::max();
  std::uint32_t lock = 0;
};

}  // namespace kiln::codegen
