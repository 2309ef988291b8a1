// Queues one launch of a loaded kernel.
#pragma once

#include "backends/cuda/device/stream.h"
#include "backends/cuda/execute/kernel_library.h"

#include <span>

namespace kiln::cuda {

/// `values`: the parameters of the kernel as words of 64 bits, in the order of
/// codegen::grid_functions(): operands, sizes, points, what a split launch adds. `number`: of the
/// launch, which the kernel writes to the call block at `call_block` with an index that is out of
/// range. `parameters`: memory for the call. Throws sdk::Failure. REQUIRES: a ScopedContext of the
/// thread; grid.points != 0.
void launch_kernel(const Stream& stream, const LoadedKernel& kernel,
                   const codegen::GridLaunch& grid, std::span<std::uint64_t> values,
                   std::int32_t number, api::DeviceAddress call_block,
                   std::vector<void*>& parameters);

}  // namespace kiln::cuda
