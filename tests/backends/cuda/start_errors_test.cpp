// Tests a backend that cannot start: the error names each searched path and the result. The same
// backend works once the environment is corrected; other backends are not affected.
#include "tests/support/catch.h"
#include "tests/backends/cuda/fresh_backend.h"
#include "tests/backends/cuda_api/stand_in.h"
#include "tests/support/environment.h"
#include "tests/support/error_text.h"
#include "test_folders.h"

#include <kiln/k.h>

#include <dlfcn.h>

using namespace kiln;
using cuda_api_test::StandIns;
using cuda_test::FreshBackend;
using kiln::testing::EnvironmentVariable;

namespace {

const std::string kBuild = KILN_BINARY_DIR;
const std::string kGpu = kiln::fake_cuda::library_folder(kBuild);

float sum_on(const std::string& backend) {
  return function({}, {sum(ones({3}))}, {.backend = backend})()[0].item<float>();
}

/// The error of the first use, with the paths of the plugin and of `folder` left out.
std::string start_error(const FreshBackend& backend, const std::string& folder) {
  const std::string error = kiln::testing::error_text<Error>([&] { sum_on(backend.path()); });
  const std::string end = " (backend cuda, " + backend.path() + ")";
  CHECK(error.ends_with(end));
  return cuda_api_test::with_dir(error.substr(0, error.find(end)), folder);
}

void check_mended(const FreshBackend& backend) {
  cuda_test::fake_device(kBuild).reset();
  const EnvironmentVariable driver("KILN_CUDA_DRIVER", kGpu);
  const EnvironmentVariable libraries("KILN_CUDA_LIBRARIES", kGpu);
  CHECK(sum_on(backend.path()) == 3);
}

struct Row {
  std::string driver, compiler;  // stand-ins of ../cuda_api; empty: those of ../cuda_fakes
  std::string error;
};

}  // namespace

TEST_CASE("start errors: drivers, devices and compilers that do not do") {
  cuda_test::fake_device(kBuild);
  const EnvironmentVariable visible("CUDA_VISIBLE_DEVICES", "0,1");
  const std::vector<Row> rows{
      {"driver_stub", "",
       "the NVIDIA driver is not installed: DIR/libcuda.so.1 is a linker stub of the toolkit, "
       "which holds no driver; CUDA error 34"},
      {"driver_11_8", "",
       "the NVIDIA driver DIR/libcuda.so.1 is for CUDA 11.8, but Kiln needs one for CUDA 12.0 or "
       "newer"},
      {"driver_missing", "",
       "the NVIDIA driver DIR/libcuda.so.1 of version 12.4 lacks cuInit, cuGraphLaunch"},
      {"driver_init_fails", "",
       "cannot initialize the NVIDIA driver DIR/libcuda.so.1: CUDA_ERROR_UNKNOWN (999): text of "
       "the driver; CUDA_VISIBLE_DEVICES is '0,1'; CUDA error 999"},
      {"driver_no_devices", "", "the NVIDIA driver shows no device; CUDA_VISIBLE_DEVICES is '0,1'"},
      {"driver_no_pools", "",
       "device 0 (Fake GPU) has no stream-ordered memory pools, which Kiln needs"},
      {"driver_no_mapping", "",
       "device 0 (Fake GPU) has no virtual memory management, which Kiln needs"},
      {"", "compiler_13",
       "NVRTC DIR/libnvrtc.so.12 has version 13.4, but Kiln needs major version 12 to 12; a driver "
       "for CUDA 12.4 cannot run code of NVRTC 13 or newer"},
      {"driver_sm_120", "compiler",
       "NVRTC 12.4 (DIR/libnvrtc.so.12) cannot compile for compute capability 12.0"}};
  for (const Row& row : rows) {
    INFO(row.error);
    const StandIns files(kBuild);
    if (!row.driver.empty()) files.add("libcuda.so.1", row.driver);
    if (!row.compiler.empty()) files.add("libnvrtc.so.12", row.compiler);
    const FreshBackend backend(kBuild);
    const EnvironmentVariable driver("KILN_CUDA_DRIVER",
                                     row.driver.empty() ? kGpu : files.folder());
    const EnvironmentVariable libraries("KILN_CUDA_LIBRARIES",
                                        row.compiler.empty() ? kGpu : files.folder());
    const std::string error = start_error(backend, files.folder());
    CHECK(error == "function: " + row.error);
    CHECK(start_error(backend, files.folder()) == error);
    CHECK(sum_on("cpu") == 3);
    CHECK(sum_on("reference") == 3);
    check_mended(backend);
  }
}

TEST_CASE("start errors: a device below the minimum") {
  cuda_test::fake_device(kBuild);
  const StandIns files(kBuild);
  files.add("libcuda.so.1", "driver_sm_75");
  const FreshBackend backend(kBuild);
  const EnvironmentVariable driver("KILN_CUDA_DRIVER", files.folder());
  CHECK(kiln::testing::error_text<ValueError>([&] { sum_on(backend.path()); }) ==
        "function: device 0 (Fake GPU) has compute capability 7.5, but Kiln needs 8.0 or newer "
        "(backend cuda, " +
            backend.path() + ")");
  check_mended(backend);
}

TEST_CASE("start errors: libraries that are not there") {
  cuda_test::fake_device(kBuild);
  const StandIns files(kBuild);
  const FreshBackend backend(kBuild);
  const EnvironmentVariable libraries("KILN_CUDA_LIBRARIES", files.folder());
  if (::dlopen("libnvrtc.so.12", RTLD_NOW | RTLD_LOCAL) == nullptr) {
    const EnvironmentVariable driver("KILN_CUDA_DRIVER", kGpu);
    CHECK_THAT(start_error(backend, files.folder()),
               Catch::Matchers::StartsWith("function: NVRTC, the compiler of CUDA, was not found: "
                                           "DIR/libnvrtc.so.12: no such file; "));
  }
  if (::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) == nullptr) {
    const EnvironmentVariable driver("KILN_CUDA_DRIVER", files.folder());
    CHECK_THAT(start_error(backend, files.folder()),
               Catch::Matchers::StartsWith("function: the NVIDIA driver is not installed: "
                                           "DIR/libcuda.so.1: no such file; "));
  }
  check_mended(backend);
}

TEST_CASE("start errors: options in the environment that cannot be read") {
  cuda_test::fake_device(kBuild);
  const FreshBackend backend(kBuild);
  const auto error = [&] {
    return kiln::testing::error_text<ValueError>([&] { sum_on(backend.path()); });
  };
  const std::string end = " (backend cuda, " + backend.path() + ")";
  {
    const EnvironmentVariable device("KILN_CUDA_DEVICE", "first");
    CHECK(error() ==
          "function: KILN_CUDA_DEVICE is 'first' but needs the number of a device from 0 to "
          "2147483647" +
              end);
  }
  {
    const EnvironmentVariable device("KILN_CUDA_DEVICE", "1");
    const EnvironmentVariable visible("CUDA_VISIBLE_DEVICES", std::nullopt);
    CHECK(error() ==
          "function: device 1 does not exist: the driver shows 1 device, 0 (Fake GPU); "
          "CUDA_VISIBLE_DEVICES is not set" +
              end);
  }
  {
    const EnvironmentVariable limit("KILN_CUDA_MEMORY_LIMIT", "8G");
    CHECK(error() ==
          "function: KILN_CUDA_MEMORY_LIMIT is '8G' but needs a number of bytes from 1 to "
          "9223372036854775807" +
              end);
  }
  {
    const EnvironmentVariable architecture("KILN_CUDA_ARCH", "sm_99");
    CHECK(error() == "function: KILN_CUDA_ARCH is sm_99 but NVRTC 12.4 (" + kGpu +
                         "/libnvrtc.so.12) compiles only for sm_80 sm_90 sm_100" + end);
  }
  {
    const EnvironmentVariable folders("KILN_CUDA_LIBRARIES", "lib64");
    CHECK(error() ==
          "function: KILN_CUDA_LIBRARIES is 'lib64' but needs absolute folders, "
          "separated by colons" +
              end);
  }
  {
    const EnvironmentVariable folders("KILN_CUDA_DRIVER", "/a:b");
    CHECK(error() ==
          "function: KILN_CUDA_DRIVER is '/a:b' but needs absolute folders, separated by colons" +
              end);
  }
  CHECK(sum_on(backend.path()) == 3);
}
