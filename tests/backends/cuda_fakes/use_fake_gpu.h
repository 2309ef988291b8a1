// Lets tests of several backends run `cuda` on the fakes of this folder.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace kiln::fake_cuda {

/// Makes the fakes the libraries of `cuda` from now on, unless KILN_CUDA_DRIVER names others. False
/// where the build has no plugin `cuda`. REQUIRES: `cuda` has not been used yet.
inline bool use_fake_gpu(const std::string& build) {
  if (!std::filesystem::exists(build + "/lib/libkiln_cuda.so")) return false;
  const std::string folder = build + "/lib/cuda_gpu";
  ::setenv("KILN_CUDA_DRIVER", folder.c_str(), 0);
  ::setenv("KILN_CUDA_LIBRARIES", folder.c_str(), 0);
  return true;
}

}  // namespace kiln::fake_cuda
