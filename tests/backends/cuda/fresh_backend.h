// Copies the plugin `cuda`, to get a backend with an instance of its own in this process.
#pragma once

#include "tests/backends/cuda/fake_device.h"
#include "tests/support/scratch.h"

#include <filesystem>
#include <string>

namespace cuda_test {

/// Reads the options from the environment when it is first used. An error that ends its device does
/// not affect other backends.
class FreshBackend {
 public:
  /// `build` has the plugin and the fakes.
  explicit FreshBackend(const std::string& build) : path_(scratch_.path("libkiln_cuda.so")) {
    std::filesystem::copy_file(build + "/lib/libkiln_cuda.so", path_);
  }

  /// The absolute path, as FunctionOptions::backend takes it.
  const std::string& path() const { return path_; }

 private:
  kiln::testing::Scratch scratch_;
  std::string path_;
};

}  // namespace cuda_test
