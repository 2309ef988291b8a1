// A matmul on a stream: it checks its memory and computes when the stream runs.
#pragma once

#include "tests/cuda_fakes/cublaslt/problem.h"
#include "tests/cuda_fakes/library_calls.h"

namespace kiln::fake_cublaslt {

/// Functions of the driver in the folder of this library.
struct DriverCalls {
  decltype(&fake_cuda_check_context) check_context = nullptr;
  decltype(&fake_cuda_enqueue) enqueue = nullptr;
  decltype(&fake_cuda_device_bytes) device_bytes = nullptr;
};
/// All null where no such driver is open.
const DriverCalls& driver();

struct QueuedMatmul {
  Problem problem;
  std::uint64_t a = 0, b = 0, d = 0, workspace = 0, workspace_bytes = 0;  // device addresses

  /// Poisons the workspace, computes in double and rounds. Gives a CUresult: an illegal address
  /// where a range is not in live memory, or where the result overlaps anything else.
  int run() const;
};

}  // namespace kiln::fake_cublaslt
