// Queues a loop as the launch of one kernel.
#pragma once

#include "backends/cuda/execute/bind_row_loop.h"
#include "backends/cuda/execute/launch_kernel.h"

#include <span>

namespace kiln::cuda {

struct RowLoopArguments {
  /// Of the body's slots in the first iteration.
  const IdVector<codegen::SlotId, api::DeviceAddress>& slots;
  std::span<const api::DeviceAddress> results;  // of the loop: those of its carries
  std::int32_t number = 0;  // of the first launch that the loop stands for
  api::DeviceAddress call_block = 0;
};

/// Throws sdk::Failure. REQUIRES: a ScopedContext of the thread; rows and iterations.
void launch_row_loop(const Stream& stream, const BoundRowLoop& kernel,
                     const codegen::LoopBinding& loop, const RowLoopArguments& arguments,
                     LaunchMemory& memory);

}  // namespace kiln::cuda
