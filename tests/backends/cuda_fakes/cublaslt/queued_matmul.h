// A matmul on a stream: it checks its memory and computes when the stream runs.
#pragma once

#include "tests/backends/cuda_fakes/cublaslt/problem.h"
#include "tests/backends/cuda_fakes/library_work.h"

namespace kiln::fake_cublaslt {

struct QueuedMatmul {
  Problem problem;
  std::uint64_t a = 0, b = 0, d = 0, workspace = 0, workspace_bytes = 0;  // device addresses

  /// Poisons the workspace, computes in double and rounds. Returns a CUresult: an illegal address
  /// where a range is not in live memory, or where the result overlaps anything else.
  int run() const;
};

}  // namespace kiln::fake_cublaslt
