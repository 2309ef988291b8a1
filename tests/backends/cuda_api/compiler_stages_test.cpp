// Tests NVRTC's stages and one compilation, with stand-ins.
#include "backends/cuda/api/open_compiler.h"
#include "tests/support/catch.h"
#include "tests/backends/cuda_api/stand_in.h"
#include "test_folders.h"

#include <locale.h>

#include <atomic>
#include <thread>

using namespace cuda_api_test;
using namespace kiln::cuda::api;

namespace {

const std::string kCompilerBuild = KILN_BINARY_DIR;

CompilerSettings compiler_settings_of(const StandIns& files, int driver_version) {
  CompilerSettings settings;
  settings.search_path = {.configured = {files.folder()},
                          .plugin_folder = false,
                          .system_search = false,
                          .known_folders = {}};
  settings.driver_version = driver_version;
  return settings;
}

std::shared_ptr<const Compiler> stand_in_compiler(const StandIns& files) {
  files.add("libnvrtc.so.12", "compiler");
  Messages messages;
  return open_compiler(compiler_settings_of(files, 0), messages);
}

}  // namespace

TEST_CASE("compiler: a stage that fails names what was looked for and found") {
  struct Row {
    std::vector<std::pair<std::string, std::string>> copies;  // name, stand-in
    int driver_version;
    std::uint32_t code;
    std::string text;  // of the failure, else the message
  };
  const std::string absent = "NVRTC, the compiler of CUDA, was not found: ";
  const std::string limit = "; a driver for CUDA 12.4 cannot run code of NVRTC 13 or newer";
  const std::vector<Row> rows{
      {{},
       0,
       KILN_CODE_NOT_FOUND,
       absent + "DIR/libnvrtc.so.13: no such file; DIR/libnvrtc.so.12: no such file"},
      {{{"libnvrtc.so.13", "compiler_13"}},
       12040,
       KILN_CODE_NOT_FOUND,
       absent + "DIR/libnvrtc.so.12: no such file" + limit},
      {{{"libnvrtc.so.12", "compiler_13"}},
       12040,
       KILN_CODE_FAILED_PRECONDITION,
       "NVRTC DIR/libnvrtc.so.12 has version 13.4, but Kiln needs major version 12 to 12" + limit},
      {{{"libnvrtc.so.12", "compiler_11"}},
       0,
       KILN_CODE_FAILED_PRECONDITION,
       "NVRTC DIR/libnvrtc.so.12 has version 11.4, but Kiln needs major version 12 to 13"},
      {{{"libnvrtc.so.12", "compiler"}},
       11080,
       KILN_CODE_FAILED_PRECONDITION,
       "Kiln needs NVRTC 12 or newer; a driver for CUDA 11.8 cannot run code of NVRTC 12 or newer"},
      {{{"libnvrtc.so.13", "compiler_no_cubin"}},
       0,
       KILN_CODE_UNIMPLEMENTED,
       "NVRTC DIR/libnvrtc.so.13 lacks nvrtcGetCUBINSize, nvrtcGetCUBIN"},
      {{{"libnvrtc.so.13", "compiler_13"}, {"libnvrtc.so.12", "compiler"}},
       13000,
       KILN_CODE_OK,
       "compiler: NVRTC 13.4, DIR/libnvrtc.so.13, for sm_80 sm_90"},
      {{{"libnvrtc.so.13", "compiler_13"}, {"libnvrtc.so.12", "compiler"}},
       12040,
       KILN_CODE_OK,
       "compiler: NVRTC 12.4, DIR/libnvrtc.so.12, for sm_80 sm_90"},
      {{{"libnvrtc.so.13", "compiler_13"}},
       14000,
       KILN_CODE_OK,
       "compiler: NVRTC 13.4, DIR/libnvrtc.so.13, for sm_80 sm_90"}};
  for (const Row& row : rows) {
    const StandIns files(kCompilerBuild);
    for (const auto& [name, fake] : row.copies) files.add(name, fake);
    INFO(row.text);
    Messages messages;
    const Caught caught = failure_of(
        [&] { open_compiler(compiler_settings_of(files, row.driver_version), messages); });
    CHECK(caught.code == row.code);
    REQUIRE(messages.size() == (row.code == KILN_CODE_OK ? 1 : 0));
    const std::string text = messages.empty() ? caught.text : messages.front();
    CHECK(with_dir(text, files.folder()) == row.text);
  }
}

TEST_CASE("compiler: fixed options, machine code and PTX") {
  const StandIns files(kCompilerBuild);
  const CompiledText result = stand_in_compiler(files)->compile("text", 90, "kernels.cu");
  CHECK(result.cubin == "cubin of -arch=sm_90 -std=c++20 -default-device -ftz=true -fmad=false");
  CHECK(result.ptx == "ptx");
  CHECK(result.log.empty());
}

TEST_CASE("compiler: a failure has the first error, the log and the native code") {
  const StandIns files(kCompilerBuild);
  const std::shared_ptr<const Compiler> compiler = stand_in_compiler(files);
  const Caught caught = failure_of([&] { compiler->compile("#error no", 80, "kernels.cu"); });
  CHECK(caught.code == KILN_CODE_INTERNAL);
  CHECK(caught.text ==
        "cannot compile kernels.cu by NVRTC 12.4 for sm_80: NVRTC_ERROR_COMPILATION (6): "
        "kernels.cu(1): error: #error no");
  CHECK(caught.details.at("log") == "a warning\nkernels.cu(1): error: #error no\nthe end");
  CHECK(caught.library == "NVRTC");
  CHECK(caught.native == 6);
  const Caught unknown = failure_of([&] { compiler->compile("text", 100, "kernels.cu"); });
  CHECK(unknown.code == KILN_CODE_UNIMPLEMENTED);
  CHECK(unknown.text == "NVRTC 12.4 cannot compile for sm_100");
}

TEST_CASE("compiler: the thread's locale is restored") {
  const StandIns files(kCompilerBuild);
  const std::shared_ptr<const Compiler> compiler = stand_in_compiler(files);
  const locale_t own = ::newlocale(LC_ALL_MASK, "C", nullptr);
  const locale_t copy = ::duplocale(own);
  const locale_t before = ::uselocale(copy);
  compiler->compile("text", 90, "kernels.cu");
  CHECK(::uselocale(nullptr) == copy);
  CHECK_THROWS(compiler->compile("#error no", 90, "kernels.cu"));
  CHECK(::uselocale(before) == copy);
  ::freelocale(copy);
  ::freelocale(own);
}

TEST_CASE("compiler: one compilation at a time before version 12.3", "[concurrency]") {
  for (const char* file : {"compiler_12_2", "compiler"}) {
    const StandIns files(kCompilerBuild);
    files.add("libnvrtc.so.12", file);
    std::atomic<int> succeeded{0}, concurrent{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        Messages messages;
        const std::shared_ptr<const Compiler> compiler =
            open_compiler(compiler_settings_of(files, 0), messages);
        concurrent += compiler->is_concurrent() ? 1 : 0;
        for (int j = 0; j < 200; ++j) {
          const Caught caught = failure_of([&] { compiler->compile("text", 80, "kernels.cu"); });
          succeeded += caught.code == KILN_CODE_OK ? 1 : 0;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    INFO(file);
    CHECK(succeeded == 800);
    CHECK(concurrent == (std::string(file) == "compiler" ? 4 : 0));
  }
}
