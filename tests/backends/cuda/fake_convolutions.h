// Resolves the functions for tests that the cuDNN of tests/backends/cuda_fakes exports.
#pragma once

#include "tests/backends/cuda/fake_device.h"
#include "tests/backends/cuda_fakes/cudnn_control.h"
#include "test_folders.h"

#include <dlfcn.h>

#include <stdexcept>

namespace cuda_test {

struct ConvolutionControl {
  explicit ConvolutionControl(const std::string& folder) {
    void* library = ::dlopen((folder + "/libcudnn.so.9").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(::dlerror());
    resolve(library, "fake_cudnn_fail", fail);
    resolve(library, "fake_cudnn_reject_plans", reject_plans);
    resolve(library, "fake_cudnn_reset", reset);
    resolve(library, "fake_cudnn_calls", calls);
    resolve(library, "fake_cudnn_objects", objects);
    resolve(library, "fake_cudnn_workspaces", workspaces);
    resolve(library, "fake_cudnn_engine", engine);
  }

  decltype(&fake_cudnn_fail) fail = nullptr;
  decltype(&fake_cudnn_reject_plans) reject_plans = nullptr;
  decltype(&fake_cudnn_reset) reset = nullptr;
  decltype(&fake_cudnn_calls) calls = nullptr;
  decltype(&fake_cudnn_objects) objects = nullptr;
  decltype(&fake_cudnn_workspaces) workspaces = nullptr;
  decltype(&fake_cudnn_engine) engine = nullptr;

  /// Convolutions that were queued.
  int convolutions() const { return calls("cudnnBackendExecute"); }

 private:
  template <class Function>
  static void resolve(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    if (function == nullptr) throw std::runtime_error(::dlerror());
  }
};

/// The control of the library that the plugin opens after fake_device(build).
inline const ConvolutionControl& fake_convolutions(const std::string& build) {
  fake_device(build);
  static const ConvolutionControl& control =
      *new ConvolutionControl(kiln::fake_cuda::library_folder(build));
  return control;
}

/// The control of the fake cuDNN of this build.
inline const ConvolutionControl& convolutions() { return fake_convolutions(KILN_BINARY_DIR); }

}  // namespace cuda_test
