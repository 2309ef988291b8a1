// Runs the backend `cuda` on the driver and the NVRTC of tests/backends/cuda_fakes, which run
// kernels on the CPU.
#pragma once

#include "tests/backends/cuda_fakes/fake_gpu.h"
#include "test_folders.h"

#include <cstdint>
#include <cstdlib>
#include <string>

namespace cuda_test {

inline constexpr std::int64_t kMiB = std::int64_t{1} << 20;
inline constexpr int kOutOfMemory = 2;  // CUDA_ERROR_OUT_OF_MEMORY

/// Makes the fakes in `build` the libraries of the plugin, and returns their control.
inline const kiln::fake_cuda::Control& fake_device(const std::string& build) {
  static const kiln::fake_cuda::Control& control = [&]() -> kiln::fake_cuda::Control& {
    const std::string folder = kiln::fake_cuda::library_folder(build);
    ::setenv("KILN_CUDA_DRIVER", folder.c_str(), 1);
    ::setenv("KILN_CUDA_LIBRARIES", folder.c_str(), 1);
    return *new kiln::fake_cuda::Control(folder);
  }();
  return control;
}

/// The control of the fake driver of this build.
inline const kiln::fake_cuda::Control& control() { return fake_device(KILN_BINARY_DIR); }

}  // namespace cuda_test
