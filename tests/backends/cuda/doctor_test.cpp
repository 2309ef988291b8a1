// Tests kiln doctor on the fake libraries: the stages of the loaders, the device, and options.
#include "tests/support/catch.h"
#include "tests/backends/cuda_fakes/fake_gpu.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/has.h"
#include "test_folders.h"

#include <filesystem>
#include <string>

namespace fs = std::filesystem;
using kiln::testing::Outcome;
using kiln::testing::run_shell;
using kiln::testing::Scratch;

namespace {

const std::string kFolder = kiln::fake_cuda::library_folder(KILN_BINARY_DIR);

Outcome doctor_with(const std::string& variables) {
  return run_shell(variables + " '" KILN_BINARY_DIR "/bin/kiln' doctor");
}

using kiln::testing::has;

}  // namespace

TEST_CASE("doctor: the loaders' stages") {
  const Outcome outcome =
      doctor_with("KILN_CUDA_DRIVER='" + kFolder + "' KILN_CUDA_LIBRARIES='" + kFolder + "'");
  INFO(outcome.text);
  CHECK(outcome.status == 0);
  CHECK(has(outcome.text, "cuda: usable\n"));
  CHECK(has(outcome.text, "\n  driver library: " + kFolder + "/libcuda.so.1\n"));
  CHECK(has(outcome.text, "\n  driver version: 12.4 (at least 12.0)\n"));
  CHECK(has(outcome.text, "\n  driver functions: "));
  CHECK(has(outcome.text, "\n  compiler: NVRTC 12.4, " + kFolder + "/libnvrtc.so.12, for sm_80 "));
  CHECK(has(outcome.text, "\n  matmuls: cuBLASLt "));
  CHECK(has(outcome.text, "\n  convolutions, attention of halves: cuDNN 9.19.0, " + kFolder +
                              "/libcudnn.so.9\n"));
  CHECK(has(outcome.text, "\n  collectives: NCCL 2.32.3, " + kFolder + "/libnccl.so.2\n"));
  const Outcome host = doctor_with("KILN_CUDA_DRIVER='" + kFolder + "' KILN_CUDA_LIBRARIES='" +
                                   kFolder + "' KILN_CUDA_COLLECTIVES=host");
  CHECK(has(host.text, "\n  collectives: by the host\n"));
}

TEST_CASE("doctor: the device that the options name") {
  const std::string libraries =
      "KILN_CUDA_DRIVER='" + kFolder + "' KILN_CUDA_LIBRARIES='" + kFolder + "' ";
  const struct {
    std::string variables, text;
  } rows[] = {
      {"", "\n  device 0 (Fake GPU): compute capability 9.0 (at least 8.0)\n"},
      {"KILN_CUDA_DEVICE= KILN_CUDA_ARCH=", "cuda: usable\n"},
      {"KILN_CUDA_DEVICE=7",
       "cuda: not usable: device 7 does not exist: the driver shows 1 device, 0 (Fake GPU); "
       "CUDA_VISIBLE_DEVICES is not set\n"},
      {"KILN_CUDA_DEVICE=-1",
       "cuda: not usable: KILN_CUDA_DEVICE is '-1' but needs the number of a device from 0 to "
       "2147483647\n"},
      {"KILN_CUDA_MEMORY_LIMIT=0", "cuda: not usable: KILN_CUDA_MEMORY_LIMIT is '0' but needs "},
      {"KILN_CUDA_ARCH=sm_75",
       "cuda: not usable: KILN_CUDA_ARCH is 'sm_75' but needs an architecture such as sm_90, at "
       "least sm_80\n"},
      {"KILN_CUDA_ARCH=99", "cuda: not usable: KILN_CUDA_ARCH is sm_99 but NVRTC 12.4 (" + kFolder +
                                "/libnvrtc.so.12) compiles only for sm_80 sm_90 sm_100\n"},
      {"KILN_CUDA_ARCH=sm_90",
       "cuda: limited: compiles for sm_90 only (dumps), as KILN_CUDA_ARCH is set; calls need "
       "KILN_CUDA_ARCH unset\n"},
  };
  for (const auto& row : rows) {
    const Outcome outcome = doctor_with("unset CUDA_VISIBLE_DEVICES; " + libraries + row.variables);
    INFO(row.variables << "\n" << outcome.text);
    CHECK(outcome.status == 0);
    CHECK(has(outcome.text, row.text));
  }
}

TEST_CASE("doctor: an architecture without a driver, and without a compiler") {
  const Scratch empty, home;
  const std::string path =
      home.write("keras.json", R"({"kiln": {"backends": {"cuda": {"arch": 90}}}})");
  const std::string driver = "KERAS_HOME='" + home.folder() + "' KILN_CUDA_DRIVER='" +
                             empty.folder() + "' KILN_CUDA_LIBRARIES='";
  const Outcome dumps = doctor_with(driver + kFolder + "'");
  INFO(dumps.text);
  if (!has(dumps.text, "\n  driver version: ")) {  // the system has no driver, either
    CHECK(has(dumps.text,
              "cuda: limited: compiles for sm_90 only (dumps), as arch is set; calls "
              "need arch unset and a device: the NVIDIA driver is not installed: " +
                  empty.path("libcuda.so.1") + ": no such file"));
    CHECK(has(dumps.text, "; options: 'arch' = '90' (" + path + ")\n"));
  }
  const Scratch old;
  fs::copy_file(KILN_BINARY_DIR "/lib/cuda_fakes/compiler_11.so", old.path("libnvrtc.so.12"));
  const Outcome none = doctor_with(driver + old.folder() + "'");
  INFO(none.text);
  CHECK(has(none.text, "cuda: not usable: NVRTC " + old.path("libnvrtc.so.12") +
                           " has version 11.4, but Kiln needs "));
}

TEST_CASE("doctor: variables that name no option") {
  const std::string libraries =
      "KILN_CUDA_DRIVER='" + kFolder + "' KILN_CUDA_LIBRARIES='" + kFolder + "' ";
  const Outcome outcome = doctor_with(
      libraries + "KILN_CUDA_GRAPH=false KILN_CUDA_tf32=true KILN_CPU_ISE=avx2 KILN_CPU_X=");
  INFO(outcome.text);
  const std::string known =
      " (environment); cuda has the options device, driver, libraries, memory_limit, arch, graphs, "
      "tf32, deterministic, collectives\n";
  CHECK(has(outcome.text, "cuda: usable\n"));
  CHECK(has(outcome.text, "\n  unknown option, ignored: KILN_CUDA_GRAPH = 'false'" + known));
  CHECK(has(outcome.text, "\n  unknown option, ignored: KILN_CUDA_tf32 = 'true'" + known));
  CHECK(has(outcome.text, "\n  option: KILN_CUDA_DRIVER = '" + kFolder + "' (environment)\n"));
  CHECK(has(outcome.text,
            "\n  unknown option, ignored: KILN_CPU_ISE = 'avx2' (environment); cpu "
            "has the options isa, perf_map\n"));
  CHECK_FALSE(has(outcome.text, "KILN_CPU_X"));
}

TEST_CASE("doctor: a cuDNN that cannot be used is a detail") {
  const Scratch libraries;
  // The fake cuBLASLt finds the driver beside itself.
  for (const char* name : {"libcuda.so.1", "libnvrtc.so.12", "libcublasLt.so.12"}) {
    fs::create_symlink(kFolder + "/" + name, libraries.path(name));
  }
  fs::copy_file(KILN_BINARY_DIR "/lib/cuda_fakes/cudnn.so", libraries.path("libcudnn.so.9"));
  const Outcome outcome = doctor_with("KILN_CUDA_DRIVER='" + kFolder + "' KILN_CUDA_LIBRARIES='" +
                                      libraries.folder() + "'");
  INFO(outcome.text);
  CHECK(has(outcome.text, "cuda: usable\n"));
  CHECK(has(outcome.text, "\n  convolutions, attention of halves: kernels; a part of cuDNN "));
  CHECK(has(outcome.text, "/libcudnn_graph.so.9: no such file\n"));
}

TEST_CASE("doctor: options in force, and where they come from") {
  const Scratch home;
  const std::string path =
      home.write("keras.json",
                 R"({"kiln": {"backends": {"cpu": {"isa": "baseline"}, "cuda": {"libraries": ")" +
                     kFolder + R"(", "tf32": true, "graphs": false}}}})");
  const std::string variables =
      "KERAS_HOME='" + home.folder() + "' KILN_CUDA_GRAPHS=true KILN_CUDA_LIBRARIES= ";
  const Outcome outcome = doctor_with(variables + "KILN_CUDA_DRIVER='" + kFolder + "'");
  INFO(outcome.text);
  CHECK(has(outcome.text, "cuda: usable\n"));
  CHECK(has(outcome.text, "\n  option: 'tf32' = 'true' (" + path + ")\n"));
  CHECK(has(outcome.text, "\n  option: 'libraries' = '" + kFolder + "' (" + path + ")\n"));
  CHECK(has(outcome.text, "\n  option: KILN_CUDA_DRIVER = '" + kFolder + "' (environment)\n"));
  CHECK(has(outcome.text, "\n  option: KILN_CUDA_GRAPHS = 'true' (environment)\n"));
  CHECK_FALSE(has(outcome.text, "'graphs'"));
  CHECK(has(outcome.text, "\n  option: 'isa' = 'baseline' (" + path + ")\n"));
  CHECK(has(outcome.text, "\n  kernels for baseline\n"));
  home.write("keras.json", R"({"kiln": {"backends": {"cpu": {"isa": "sse9"}}}})");
  const Outcome wrong = doctor_with(variables);
  INFO(wrong.text);
  CHECK(has(wrong.text,
            "cpu: not usable: isa is 'sse9' but must be baseline, avx2, avx512 or amx; "
            "options: 'isa' = 'sse9' (" +
                path + ")"));
}

TEST_CASE("doctor: a stage that fails is the reason, and NVRTC is opened without a driver, too") {
  const Scratch old;
  const std::string fakes = KILN_BINARY_DIR "/lib/cuda_fakes/";
  fs::copy_file(fakes + "driver_11_8.so", old.path("libcuda.so.1"));
  fs::copy_file(fakes + "compiler_11.so", old.path("libnvrtc.so.12"));
  const std::string old_driver = "cuda: not usable: the NVIDIA driver " + old.path("libcuda.so.1") +
                                 " is for CUDA 11.8, but Kiln needs one for CUDA 12.0 or newer\n";
  const std::string old_compiler = "NVRTC " + old.path("libnvrtc.so.12") + " has version 11.";
  const struct {
    std::string driver, compiler, reason, detail;
  } rows[] = {
      {old.folder(), kFolder, old_driver, "\n  compiler: NVRTC 12.4, "},
      {kFolder, old.folder(), "cuda: not usable: " + old_compiler, "\n  driver version: 12.4 "},
      {old.folder(), old.folder(), old_driver, "\n  " + old_compiler},
      {"relative", kFolder, "cuda: not usable: KILN_CUDA_DRIVER is 'relative' but needs absolute ",
       "\n  path: "},
  };
  for (const auto& row : rows) {
    const Outcome outcome = doctor_with("KILN_CUDA_DRIVER='" + row.driver +
                                        "' KILN_CUDA_LIBRARIES='" + row.compiler + "'");
    INFO(outcome.text);
    CHECK(outcome.status == 0);
    CHECK(has(outcome.text, row.reason));
    CHECK(has(outcome.text, row.detail));
  }
}

TEST_CASE("doctor: a library whose constructor does not return is named") {
  const struct {
    const char *file, *fake, *how;
  } rows[] = {{"libnvrtc.so.12", "crashing", "crashes with SIGSEGV (signal 11)"},
              {"libcudnn.so.9", "exiting", "exits with status 3"},
              {"libcublasLt.so.12", "hanging", "hangs: it has not ended after 5 s"}};
  for (const auto& row : rows) {
    const Scratch libraries;
    for (const char* name : {"libcuda.so.1", "libnvrtc.so.12", "libcublasLt.so.12"}) {
      if (name != std::string(row.file)) {
        fs::create_symlink(kFolder + "/" + name, libraries.path(name));
      }
    }
    fs::copy_file(KILN_BINARY_DIR "/lib/cuda_fakes/" + std::string(row.fake) + ".so",
                  libraries.path(row.file));
    const Outcome outcome =
        run_shell("KILN_CUDA_DRIVER='" + kFolder + "' KILN_CUDA_LIBRARIES='" + libraries.folder() +
                  "' KERAS_BACKEND=reference '" KILN_BINARY_DIR "/bin/kiln' doctor --seconds 5");
    INFO(outcome.text);
    CHECK(has(outcome.text, "cuda: not usable: its process " + std::string(row.how) +
                                "; the last library that it opened is " + libraries.path(row.file) +
                                "\n  path: "));
    CHECK(has(outcome.text, "\nreference: "));
  }
}

TEST_CASE("doctor: a damaged library in a folder that is named is reported") {
  const std::string named = " (no other folder is searched, since this one was named)";
  const struct {
    const char *file, *text;
  } rows[] = {
      {"libcuda.so.1", "\ncuda: not usable: the NVIDIA driver cannot be loaded: "},
      {"libnvrtc.so.12", "\ncuda: not usable: NVRTC, the compiler of CUDA, cannot be loaded: "},
      {"libcublasLt.so.12",
       "\n  matmuls: kernels; cuBLASLt, NVIDIA's library of matmuls, cannot be loaded: "},
      {"libcudnn.so.9",
       "\n  convolutions, attention of halves: kernels; cuDNN, NVIDIA's library of convolutions "
       "and attention, cannot be loaded: "},
      {"libnccl.so.2",
       "\n  collectives: none; NCCL, NVIDIA's library of collectives, cannot be loaded: "}};
  for (const auto& row : rows) {
    const Scratch damaged;
    const std::string path = damaged.path(row.file);
    fs::copy_file(kFolder + "/" + row.file, path);
    fs::resize_file(path, 3000);
    const std::string folders = damaged.folder() + ":" + kFolder;
    const Outcome outcome =
        doctor_with("KILN_CUDA_DRIVER='" + folders + "' KILN_CUDA_LIBRARIES='" + folders + "'");
    INFO(outcome.text);
    CHECK(has(outcome.text, row.text));
    CHECK(has(outcome.text, path + ": cut off: it has 3000 bytes and needs "));
    CHECK(has(outcome.text, named));
  }
}
