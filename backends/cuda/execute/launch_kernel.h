// Binds a loaded kernel to sizes, and queues one launch of it.
#pragma once

#include "backends/codegen/bind/slot_sizes.h"
#include "backends/cuda/device/stream.h"
#include "backends/cuda/execute/kernel_library.h"

#include <span>

namespace kiln::cuda {

/// A kernel with the sizes of a call.
struct BoundKernel {
  const LoadedKernel* kernel = nullptr;
  std::vector<std::int64_t> sizes;  // one per Kernel::sizes, or the variable extent
  codegen::GridLaunch grid;         // 0 points: nothing is launched
};

/// Launches at most as many blocks as are resident: others would run alone, after the first ones.
/// Split reductions get parts for these blocks, or, where these are too few, for the blocks that
/// the threads of the device admit. Their bits therefore depend on sizes, device and machine code.
/// `loaded` outlives the result. Throws as `evaluate`.
BoundKernel bind_kernel(const codegen::Kernel& kernel, const LoadedKernel& loaded,
                        const codegen::GridDescription& device,
                        const codegen::EvaluateDim& evaluate);

/// Addresses of one launch, and its number.
struct LaunchArguments {
  std::span<const api::DeviceAddress> operands;
  api::DeviceAddress partials = 0, arrivals = 0;  // of a split launch (GridLaunch)
  std::int32_t number = 0;  // which the kernel records with an index that is out of range
  api::DeviceAddress call_block = 0;  // a codegen::CallBlock
};

/// Memory of launch_kernel(), which calls reuse.
struct LaunchMemory {
  std::vector<std::uint64_t> values;
  std::vector<void*> parameters;
};

struct LaunchGrid {
  std::int64_t blocks;
  int threads;  // of a block
};

/// The last parameters of every function.
struct LaunchNumbers {
  std::int32_t step;
  api::DeviceAddress call_block;
};

/// Queues a launch of a function, with `numbers` after `parameters`. Throws sdk::Failure. REQUIRES:
/// a ScopedContext of the thread.
void submit(const Stream& stream, api::FunctionHandle function, const LaunchGrid& grid,
            const LaunchNumbers& numbers, std::vector<void*>& parameters);

/// Throws sdk::Failure. REQUIRES: a ScopedContext of the thread; bound.grid.points != 0.
void launch_kernel(const Stream& stream, const BoundKernel& bound, const LaunchArguments& arguments,
                   LaunchMemory& memory);

/// A launch of a batch: without memory of its own.
struct BatchedLaunch {
  const BoundKernel& bound;
  const LaunchArguments& arguments;
};

/// Queues launches of one function as one, which has the number of the first. Throws sdk::Failure.
/// REQUIRES: a ScopedContext of the thread; one to GridSchedule::batch launches, each with points,
/// and all with one call block; no step among them or between them can fail.
void launch_batch(const Stream& stream, std::span<const BatchedLaunch> batch, LaunchMemory& memory);

}  // namespace kiln::cuda
