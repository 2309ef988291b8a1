// An attention on a stream: it checks its memory and computes when the stream runs.
#pragma once

#include "tests/backends/cuda_fakes/cudnn/attention.h"

#include <map>

namespace kiln::fake_cudnn {

struct QueuedAttention {
  std::vector<Operation> operations;
  std::map<std::int64_t, std::uint64_t> addresses;  // of the device, of each tensor in memory
  std::map<std::int64_t, float> values;             // as they were when the work was queued
  std::uint64_t workspace = 0;
  std::int64_t workspace_bytes = 0;

  /// Poisons the workspace, then computes one operation after another, in float32 with sums in
  /// double, and rounds to the type of each tensor; the left matrix of a matmul is rounded to the
  /// type of the right one. Returns a CUresult: an illegal address where a tensor is not in live
  /// memory, or where a result overlaps anything else.
  int run() const;
};

}  // namespace kiln::fake_cudnn
