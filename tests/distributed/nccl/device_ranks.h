// Ranks whose backend is `cuda`.
#pragma once

#include "tests/backends/cuda_fakes/use_fake_gpu.h"
#include "tests/distributed/collectives/session_ranks.h"
#include "tests/support/build_folder.h"

#include <cstdlib>

namespace kiln::testing {

inline constexpr const char* kCuda[] = {"cuda"};

/// Lets all ranks share one device, a fake one unless KILN_TEST_BACKEND names the backend, as
/// tools/gpu_test does. REQUIRES: no rank has been started.
inline void use_one_device() {
  if (std::getenv("KERAS_BACKEND") == nullptr) fake_cuda::use_fake_gpu(build_folder());
  ::setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 1);
}

}  // namespace kiln::testing
