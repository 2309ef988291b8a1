// A convolution on a stream: it checks its memory and computes when the stream runs.
#pragma once

#include "tests/backends/cuda_fakes/cudnn/problem.h"
#include "tests/backends/cuda_fakes/library_work.h"

namespace kiln::fake_cudnn {

struct QueuedConvolution {
  Problem problem;
  int engine = 0;
  std::uint64_t input = 0, filter = 0, output = 0, workspace = 0;  // device addresses
  std::int64_t workspace_bytes = 0;

  /// Poisons the workspace, computes in double and rounds; kTensorCore rounds operands of float32
  /// to TF32. Returns a CUresult: an illegal address where a range is not in live memory, or where
  /// the result overlaps anything else.
  int run() const;
};

}  // namespace kiln::fake_cudnn
