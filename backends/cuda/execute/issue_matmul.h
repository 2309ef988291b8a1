// Queues a bound matmul on a stream by cuBLASLt.
#pragma once

#include "backends/cuda/device/stream.h"
#include "backends/cuda/execute/bind_matmul.h"
#include "core/module/module.h"

namespace kiln::cuda {

/// The stream, and the base addresses of the step's slots and of its workspace.
struct MatmulCall {
  const Stream& stream;
  const module::Module& module;  // for the source line of an error
  MatmulAddresses slots;
  std::int64_t result_bytes = 0;
};

/// Throws sdk::Failure. REQUIRES: a ScopedContext of the thread.
void issue_matmul(const codegen::MatmulStep& step, const DeviceMatmul& bound,
                  const MatmulCall& call);

}  // namespace kiln::cuda
