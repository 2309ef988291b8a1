// Tests the driver's stages, each with stand-ins that fail there.
#include "backends/cuda/api/open_driver.h"
#include "tests/support/catch.h"
#include "tests/backends/cuda_api/stand_in.h"
#include "tests/support/environment.h"
#include "test_folders.h"

#include <optional>

using namespace cuda_api_test;
using namespace kiln::cuda::api;

namespace {

const std::string kDriverBuild = KILN_BINARY_DIR;

/// Searches that folder alone.
DriverSettings driver_settings_of(const StandIns& files) {
  DriverSettings settings;
  settings.device_nodes = {files.path("dev/nvidia*"), files.path("dev/dxg")};
  settings.search_path = {.configured = {files.folder()},
                          .plugin_folder = false,
                          .system_search = false,
                          .known_folders = {}};
  settings.stubs = {files.path("toolkit-*/stubs/libcuda.so")};
  return settings;
}

const std::string kNotInstalled = "the NVIDIA driver is not installed: ";
const std::string kNotLoaded = "the NVIDIA driver cannot be loaded: ";
const std::string kNamed = " (no other folder is searched, since this one was named)";

}  // namespace

TEST_CASE("driver: a stage that fails names what was looked for and found") {
  struct Row {
    std::vector<std::pair<std::string, std::string>> files;   // name, contents
    std::vector<std::pair<std::string, std::string>> copies;  // name, stand-in
    std::uint32_t code;
    std::string text;
    std::int64_t native = 0;
    std::size_t messages = 0;
  };
  const std::pair<std::string, std::string> node{"dev/nvidia0", ""};
  const auto driver = [](const char* fake) {
    return std::vector<std::pair<std::string, std::string>>{{"libcuda.so.1", fake}};
  };
  const std::string library = "DIR/libcuda.so.1", the_driver = "the NVIDIA driver " + library;
  const std::vector<Row> rows{
      {{},
       driver("driver"),
       KILN_CODE_UNAVAILABLE,
       "no NVIDIA device: none of these files exists: DIR/dev/nvidia*, DIR/dev/dxg"},
      {{node}, {}, KILN_CODE_NOT_FOUND, kNotInstalled + library + ": no such file", 0, 1},
      {{node},
       {{"toolkit-13.0/stubs/libcuda.so", "driver"}, {"toolkit-9.2/stubs/libcuda.so", "driver"}},
       KILN_CODE_NOT_FOUND,
       kNotInstalled + library +
           ": no such file; DIR/toolkit-13.0/stubs/libcuda.so is a linker "
           "stub of the toolkit, which holds no driver",
       0,
       1},
      {{node, {"libcuda.so.1", "/* GNU ld script */ INPUT(libcuda.so)"}},
       {},
       KILN_CODE_FAILED_PRECONDITION,
       kNotLoaded + library + ": not an ELF file" + kNamed,
       0,
       1},
      {{node, {"libcuda.so.1", ""}},
       {},
       KILN_CODE_FAILED_PRECONDITION,
       kNotLoaded + library + ": not an ELF file" + kNamed,
       0,
       1},
      {{node, {"libcuda.so.1/", ""}},
       {},
       KILN_CODE_FAILED_PRECONDITION,
       kNotLoaded + library + ": not a regular file" + kNamed,
       0,
       1},
      {{node},
       driver("driver_stub"),
       KILN_CODE_NOT_FOUND,
       kNotInstalled + library + " is a linker stub of the toolkit, which holds no driver",
       34,
       2},
      {{node},
       driver("driver_no_version"),
       KILN_CODE_UNIMPLEMENTED,
       the_driver + " lacks cuDriverGetVersion",
       0,
       2},
      {{node},
       driver("driver_version_fails"),
       KILN_CODE_FAILED_PRECONDITION,
       "cannot read the version of " + the_driver + ": CUDA_ERROR_UNKNOWN (999)",
       999,
       2},
      {{node},
       driver("driver_11_8"),
       KILN_CODE_FAILED_PRECONDITION,
       the_driver + " is for CUDA 11.8, but Kiln needs one for CUDA 12.0 or newer",
       0,
       2},
      {{node},
       driver("driver_no_proc_address"),
       KILN_CODE_UNIMPLEMENTED,
       the_driver + " of version 12.4 lacks cuGetProcAddress_v2",
       0,
       3},
      {{node},
       driver("driver_missing"),
       KILN_CODE_UNIMPLEMENTED,
       the_driver + " of version 12.4 lacks cuInit, cuGraphLaunch",
       0,
       3}};
  for (const Row& row : rows) {
    const StandIns files(kDriverBuild);
    for (const auto& [name, contents] : row.files) files.write(name, contents);
    for (const auto& [name, fake] : row.copies) files.add(name, fake);
    INFO(row.text);
    Messages messages;
    const Caught caught = failure_of([&] { open_driver(driver_settings_of(files), messages); });
    CHECK(caught.code == row.code);
    CHECK(with_dir(caught.text, files.folder()) == row.text);
    CHECK(caught.native == row.native);
    CHECK(caught.library == (row.native == 0 ? "" : "CUDA"));
    CHECK(messages.size() == row.messages);
  }
}

TEST_CASE("driver: messages of stages that pass") {
  struct Row {
    const char* fake;
    std::vector<std::string> messages;
  };
  const std::string node = "device node: DIR/dev/nvidia1, DIR/dev/nvidia0, DIR/dev/dxg";
  const std::string library = "driver library: DIR/libcuda.so.1";
  const std::vector<Row> rows{
      {"driver", {node, library, "driver version: 12.4 (at least 12.0)", "driver functions: 68"}},
      {"driver_12_0",
       {node, library, "driver version: 12.0 (at least 12.0)",
        "driver functions: 67, without the optional cuGraphConditionalHandleCreate"}},
      {"driver_optional",
       {node, library, "driver version: 12.4 (at least 12.0)",
        "driver functions: 66, without the optional cuLaunchKernelEx, cuGraphDebugDotPrint"}}};
  for (const Row& row : rows) {
    const StandIns files(kDriverBuild);
    for (const char* name : {"dev/nvidia0", "dev/nvidia1", "dev/dxg"}) files.write(name, "");
    files.add("libcuda.so.1", row.fake);
    Messages messages;
    INFO(row.fake);
    const std::shared_ptr<const Driver> driver = open_driver(driver_settings_of(files), messages);
    CHECK(with_dir(messages, files.folder()) == row.messages);
    CHECK(driver->path == files.path("libcuda.so.1"));
    const bool all_optional = driver->launch_kernel_ex != nullptr &&
                              driver->graph_debug_dot_print != nullptr &&
                              driver->graph_conditional_handle_create != nullptr;
    CHECK(all_optional == (row.messages.back().find("without") == std::string::npos));
#define CHECK_MEMBER(member, symbol, version, presence, ...) \
  if (std::string(#presence) == "Required") CHECK(driver->member != nullptr);
    KILN_CUDA_DRIVER_FUNCTIONS(CHECK_MEMBER)
  }
}

TEST_CASE("driver: initialization and devices") {
  struct Row {
    const char* fake;
    int ordinal;
    std::optional<std::string> visible;
    std::uint32_t code;
    std::string text;  // of the failure, else messages
    std::int64_t native = 0;
  };
  const std::string unset = "CUDA_VISIBLE_DEVICES is not set";
  const std::vector<Row> rows{
      {"driver", 0, std::nullopt, KILN_CODE_OK,
       "devices: 1, " + unset + "\ndevice 0 (Fake GPU): compute capability 9.0 (at least 8.0)\n"},
      {"driver_two_devices", 1, "0,3", KILN_CODE_OK,
       "devices: 2, CUDA_VISIBLE_DEVICES is '0,3'\n"
       "device 1 (Fake GPU): compute capability 9.0 (at least 8.0)\n"},
      {"driver_init_fails", 0, std::nullopt, KILN_CODE_UNAVAILABLE,
       "cannot initialize the NVIDIA driver DIR/libcuda.so.1: CUDA_ERROR_UNKNOWN (999): text of "
       "the driver; " +
           unset,
       999},
      {"driver_init_no_device", 0, "7", KILN_CODE_UNAVAILABLE,
       "the NVIDIA driver shows no device; CUDA_VISIBLE_DEVICES is '7'", 100},
      {"driver_no_devices", 0, "", KILN_CODE_UNAVAILABLE,
       "the NVIDIA driver shows no device; CUDA_VISIBLE_DEVICES is ''"},
      {"driver", 1, std::nullopt, KILN_CODE_INVALID_ARGUMENT,
       "device 1 does not exist: the driver shows 1 device, 0 (Fake GPU); " + unset},
      {"driver_two_devices", -1, std::nullopt, KILN_CODE_INVALID_ARGUMENT,
       "device -1 does not exist: the driver shows 2 devices, 0 (Fake GPU), 1 (Fake GPU); " +
           unset},
      {"driver_sm_75", 0, std::nullopt, KILN_CODE_OUT_OF_RANGE,
       "device 0 (Fake GPU) has compute capability 7.5, but Kiln needs 8.0 or newer"},
      {"driver_no_pools", 0, std::nullopt, KILN_CODE_UNAVAILABLE,
       "device 0 (Fake GPU) has no stream-ordered memory pools, which Kiln needs"},
      {"driver_no_mapping", 0, std::nullopt, KILN_CODE_UNAVAILABLE,
       "device 0 (Fake GPU) has no virtual memory management, which Kiln needs"}};
  for (const Row& row : rows) {
    const kiln::testing::EnvironmentVariable visible("CUDA_VISIBLE_DEVICES", row.visible);
    const StandIns files(kDriverBuild);
    files.write("dev/nvidia0", "");
    files.add("libcuda.so.1", row.fake);
    INFO(row.fake << " " << row.text);
    const DriverSettings settings = driver_settings_of(files);
    Messages before, messages;
    const std::shared_ptr<const Driver> driver = open_driver(settings, before);
    const Caught caught =
        failure_of([&] { open_device(*driver, row.ordinal, settings, messages); });
    std::string text = caught.text;
    if (caught.code == KILN_CODE_OK) {
      for (const std::string& message : messages) text += message + "\n";
    }
    CHECK(caught.code == row.code);
    CHECK(with_dir(text, files.folder()) == row.text);
    CHECK(caught.native == row.native);
  }
}

TEST_CASE("driver: opening it leaves it uninitialized, opening a device does not") {
  const StandIns files(kDriverBuild);
  files.write("dev/nvidia0", "");
  files.add("libcuda.so.1", "driver");
  const DriverSettings settings = driver_settings_of(files);
  Messages messages;
  const std::shared_ptr<const Driver> driver = open_driver(settings, messages);
  CHECK_FALSE(is_initialized(*driver));
  open_device(*driver, 0, settings, messages);
  CHECK(is_initialized(*driver));
}

TEST_CASE("driver: the settings decide what is too old") {
  const StandIns files(kDriverBuild);
  files.write("dev/dxg", "");
  files.add("libcuda.so.1", "driver");
  DriverSettings settings = driver_settings_of(files);
  Messages messages;
  settings.min_compute_capability = 100;
  const std::shared_ptr<const Driver> driver = open_driver(settings, messages);
  CHECK(failure_of([&] { open_device(*driver, 0, settings, messages); }).text ==
        "device 0 (Fake GPU) has compute capability 9.0, but Kiln needs 10.0 or newer");
  settings.min_version = 12080;
  CHECK(with_dir(failure_of([&] { open_driver(settings, messages); }).text, files.folder()) ==
        "the NVIDIA driver DIR/libcuda.so.1 is for CUDA 12.4, but Kiln needs one for CUDA 12.8 or "
        "newer");
}
