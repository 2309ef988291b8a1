// Resolves the functions for tests that the cuBLASLt of tests/backends/cuda_fakes exports.
#pragma once

#include "core/types/no_destructor.h"
#include "tests/backends/cuda/fake_device.h"
#include "tests/backends/cuda_fakes/cublaslt_control.h"
#include "test_folders.h"

#include <dlfcn.h>

#include <stdexcept>

namespace cuda_test {

struct MatmulControl {
  explicit MatmulControl(const std::string& folder) {
    void* library = ::dlopen((folder + "/libcublasLt.so.12").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(::dlerror());
    resolve(library, "fake_cublaslt_fail", fail);
    resolve(library, "fake_cublaslt_reset", reset);
    resolve(library, "fake_cublaslt_calls", calls);
    resolve(library, "fake_cublaslt_objects", objects);
    resolve(library, "fake_cublaslt_workspaces", workspaces);
  }

  decltype(&fake_cublaslt_fail) fail = nullptr;
  decltype(&fake_cublaslt_reset) reset = nullptr;
  decltype(&fake_cublaslt_calls) calls = nullptr;
  decltype(&fake_cublaslt_objects) objects = nullptr;
  decltype(&fake_cublaslt_workspaces) workspaces = nullptr;

 private:
  template <class Function>
  static void resolve(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    if (function == nullptr) throw std::runtime_error(::dlerror());
  }
};

/// The control of the library that the plugin opens after fake_device(build).
inline const MatmulControl& fake_matmuls(const std::string& build) {
  fake_device(build);
  static const kiln::NoDestructor<MatmulControl> control(kiln::fake_cuda::library_folder(build));
  return *control;
}

/// The control of the fake cuBLASLt of this build.
inline const MatmulControl& matmuls() { return fake_matmuls(KILN_BINARY_DIR); }

}  // namespace cuda_test
