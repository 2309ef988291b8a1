// Opens the CUDA driver and a device in stages, each with a message and an error code of its own:
//   1 UNAVAILABLE          device node: an NVIDIA device exists
//   2 NOT_FOUND            driver library: it opens
//   3 FAILED_PRECONDITION  driver version: it is at least the minimum
//   4 UNIMPLEMENTED        driver functions: the library has all that are required
//   5 UNAVAILABLE          initialization: cuInit succeeds and shows a device
//   6 OUT_OF_RANGE         compute capability: it is at least the minimum
#pragma once

#include "backends/cuda/api/driver_api.h"
#include "backends/cuda/api/library_file.h"

#include <memory>
#include <string>
#include <vector>

namespace kiln::cuda::api {

/// One line for each stage that passed, such as "driver version: 12.4 (at least 12.0)".
using Messages = std::vector<std::string>;

/// CUDA 12.0 introduced cuLibraryLoadData, which replaces modules.
inline constexpr int kMinDriverVersion = 12000;
inline constexpr int kMinComputeCapability = 80;

struct DriverSettings {
  /// Patterns of glob(3): a match is a device node of Linux or WSL, or the kernel module. Empty:
  /// skips stage 1.
  std::vector<std::string> device_nodes{"/dev/nvidia*", "/dev/dxg", "/proc/driver/nvidia/version"};
  std::vector<std::string> library_names{"libcuda.so.1"};
  /// Excludes folders of plugins and toolkits, which hold no driver: the driver must match the
  /// machine's kernel module.
  LibrarySearchPath search_path{
      .configured = {},
      .plugin_folder = false,
      .system_search = true,
      .known_folders = {"/usr/lib/wsl/lib", "/usr/local/nvidia/lib64", "/run/opengl-driver/lib"}};
  /// Patterns of the toolkits' linker stubs, which an error names where there is no driver.
  std::vector<std::string> stubs{"/usr/local/cuda*/lib*/stubs/libcuda.so"};
  int min_version = kMinDriverVersion;
  int min_compute_capability = kMinComputeCapability;
};

/// The functions of an open driver. Never closed, immutable, for any thread.
struct Driver : DriverFunctions {
  int version = 0;  // 12040: CUDA 12.4
  std::string path;
};

struct DeviceIdentity {
  DeviceHandle handle = 0;
  int ordinal = 0;
  std::string name;
  int compute_capability = 0;  // 90: 9.0
};

/// "12.4" of 12040.
std::string version_text(int version);

/// Stages 1 to 4, which leave the driver uninitialized: a later fork() keeps working. Throws
/// sdk::Failure; `messages` then has the stages that passed. The version is read before the
/// functions are resolved, so that an old driver is reported as old and not as incomplete.
std::shared_ptr<const Driver> open_driver(const DriverSettings& settings, Messages& messages);

/// Whether Kiln or another library has called cuInit in this process. False in its children.
bool is_initialized(const Driver& driver);

/// Stages 5 and 6 for the device of that number, as CUDA_VISIBLE_DEVICES numbers them. Throws
/// sdk::Failure, of INVALID_ARGUMENT where there is no such number, whose text lists the devices.
DeviceIdentity open_device(const Driver& driver, int ordinal, const DriverSettings& settings,
                           Messages& messages);

}  // namespace kiln::cuda::api
