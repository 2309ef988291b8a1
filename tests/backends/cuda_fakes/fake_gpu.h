// Opens the libraries of this folder by the plugin's loaders, and resolves control.h.
#pragma once

#include "backends/cuda/api/open_compiler.h"
#include "backends/cuda/api/open_driver.h"
#include "tests/backends/cuda_fakes/control.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace kiln::fake_cuda {

/// The folder of the libraries in a build folder.
inline std::string library_folder(const std::string& build) { return build + "/lib/cuda_gpu"; }

inline cuda::api::LibrarySearchPath search_path_of(const std::string& folder) {
  return {
      .configured = {folder}, .plugin_folder = false, .system_search = false, .known_folders = {}};
}
inline cuda::api::DriverSettings driver_settings(const std::string& folder) {
  cuda::api::DriverSettings settings;
  settings.device_nodes = {"/dev/null"};
  settings.search_path = search_path_of(folder);
  return settings;
}
inline cuda::api::CompilerSettings compiler_settings(const std::string& folder) {
  return {.search_path = search_path_of(folder), .driver_version = 0};
}

/// The functions of control.h of the driver in that folder. They act on the process's one copy of
/// the driver, which the plugin opens, too. The constructor throws std::runtime_error.
struct Control {
  explicit Control(const std::string& folder) {
    void* library = ::dlopen((folder + "/libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(::dlerror());
    resolve(library, "fake_cuda_fail", fail);
    resolve(library, "fake_cuda_reset", reset);
    resolve(library, "fake_cuda_calls", calls);
    resolve(library, "fake_cuda_limit_memory", limit_memory);
    resolve(library, "fake_cuda_usage", usage);
  }

  decltype(&fake_cuda_fail) fail = nullptr;
  decltype(&fake_cuda_reset) reset = nullptr;
  decltype(&fake_cuda_calls) calls = nullptr;
  decltype(&fake_cuda_limit_memory) limit_memory = nullptr;
  decltype(&fake_cuda_usage) usage = nullptr;

 private:
  template <class Function>
  static void resolve(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    if (function == nullptr) throw std::runtime_error(::dlerror());
  }
};

/// The number of objects that count as leaks when a test ends.
inline std::size_t objects_alive(const FakeCudaUsage& usage) {
  return usage.allocations + usage.pools + usage.ranges + usage.host_allocations + usage.streams +
         usage.events + usage.libraries + usage.graphs + usage.executable_graphs +
         usage.retained_contexts;
}

}  // namespace kiln::fake_cuda
