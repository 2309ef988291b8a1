// Tests cuDNN's stages, with stand-ins, and its status codes as errors.
#include "backends/cuda/api/api_failure.h"
#include "backends/cuda/api/open_cudnn.h"
#include "tests/support/catch.h"
#include "tests/backends/cuda_api/stand_in.h"
#include "test_folders.h"

using namespace cuda_api_test;
using namespace kiln::cuda::api;

namespace {

constexpr const char* kParts[] = {
    "graph", "ops", "cnn", "heuristic", "engines_precompiled", "engines_runtime_compiled"};

std::string file_of(const std::string& part) { return "libcudnn_" + part + ".so.9"; }

CudnnSettings cudnn_settings_of(const StandIns& files, int driver_version) {
  CudnnSettings settings;
  settings.search_path = {.configured = {files.folder()},
                          .plugin_folder = false,
                          .system_search = false,
                          .known_folders = {}};
  settings.driver_version = driver_version;
  return settings;
}

/// The text of a failure, or the message of a success.
struct Opened {
  std::uint32_t code = 0;
  std::string text;
};

template <class Open>
Opened opened(const StandIns& files, int driver_version, const Open& open) {
  Messages messages;
  const Caught caught =
      failure_of([&] { open(cudnn_settings_of(files, driver_version), messages); });
  CHECK(messages.size() == (caught.code == KILN_CODE_OK ? 1 : 0));
  return {caught.code, with_dir(messages.empty() ? caught.text : messages.front(), files.folder())};
}

void add_all(const StandIns& files, const std::string& library, const std::string& part) {
  files.add("libcudnn.so.9", library);
  for (const char* name : kParts) files.add(file_of(name), part);
}

}  // namespace

TEST_CASE("cuDNN: a stage that fails names what was looked for and found") {
  const struct {
    const char *library, *part;
    int driver_version;
    std::uint32_t code;
    std::string text;  // of the failure, else the message
  } rows[] = {
      {"cudnn", "cudnn", 12040, KILN_CODE_OK, "convolutions: cuDNN 9.3.0, DIR/libcudnn.so.9"},
      {"cudnn_cuda_13", "cudnn", 0, KILN_CODE_OK, "convolutions: cuDNN 9.3.0, DIR/libcudnn.so.9"},
      {"cudnn_8", "cudnn_8", 12040, KILN_CODE_FAILED_PRECONDITION,
       "cuDNN DIR/libcudnn.so.9 has version 8.9.7, but Kiln needs major version 9"},
      {"cudnn_cuda_13", "cudnn", 12040, KILN_CODE_FAILED_PRECONDITION,
       "cuDNN DIR/libcudnn.so.9 is for CUDA 13.0; a driver for CUDA 12.4 cannot run libraries for "
       "newer major versions"},
      {"cudnn", "cudnn_9_4", 12040, KILN_CODE_FAILED_PRECONDITION,
       "cuDNN DIR/libcudnn.so.9 has version 9.3.0, but its part DIR/libcudnn_graph.so.9 has 9.4.0"},
      {"cudnn_no_backend", "cudnn", 12040, KILN_CODE_UNIMPLEMENTED,
       "cuDNN DIR/libcudnn.so.9 lacks cudnnGraphVersionCheck, cudnnOpsVersionCheck, "
       "cudnnCnnVersionCheck, cudnnCreate, cudnnDestroy, cudnnSetStream, "
       "cudnnBackendCreateDescriptor, cudnnBackendDestroyDescriptor, cudnnBackendFinalize, "
       "cudnnBackendSetAttribute, cudnnBackendGetAttribute, cudnnBackendExecute"},
  };
  for (const auto& row : rows) {
    const StandIns files(KILN_BINARY_DIR);
    add_all(files, row.library, row.part);
    INFO(row.text);
    for (const auto& open : {open_cudnn, find_cudnn}) {
      const Opened found = opened(files, row.driver_version, open);
      CHECK(found.code == row.code);
      CHECK(found.text == row.text);
    }
  }
}

TEST_CASE("cuDNN: without the library, the failure lists the search path") {
  const StandIns files(KILN_BINARY_DIR);
  const Opened found = opened(files, 0, open_cudnn);
  CHECK(found.code == KILN_CODE_NOT_FOUND);
  CHECK(found.text ==
        "cuDNN, NVIDIA's library of convolutions and attention, was not found: "
        "DIR/libcudnn.so.9: no such file");
}

TEST_CASE("cuDNN: every part has to be there, and loadable") {
  for (const char* missing : kParts) {
    for (const bool is_text : {false, true}) {
      const StandIns files(KILN_BINARY_DIR);
      files.add("libcudnn.so.9", "cudnn");
      for (const char* name : kParts) {
        if (std::string(name) != missing) files.add(file_of(name), "cudnn");
      }
      if (is_text) files.write(file_of(missing), "text");
      for (const auto& open : {open_cudnn, find_cudnn}) {
        const Opened found = opened(files, 0, open);
        CHECK(found.code == (is_text ? KILN_CODE_FAILED_PRECONDITION : KILN_CODE_NOT_FOUND));
        CHECK(found.text == "a part of cuDNN DIR/libcudnn.so.9 cannot be " +
                                std::string(is_text ? "loaded" : "used") + ": DIR/" +
                                file_of(missing) +
                                (is_text ? ": not an ELF file" : ": no such file"));
      }
    }
  }
}

TEST_CASE("cuDNN: parts of several versions are found when all are open") {
  const StandIns files(KILN_BINARY_DIR);
  add_all(files, "cudnn_mixed", "cudnn");
  CHECK(opened(files, 0, find_cudnn).code == KILN_CODE_OK);
  const Opened found = opened(files, 0, open_cudnn);
  CHECK(found.code == KILN_CODE_FAILED_PRECONDITION);
  CHECK(found.text ==
        "parts of cuDNN DIR/libcudnn.so.9 have several versions: its part graph reports "
        "CUDNN_STATUS (1002)");
}

TEST_CASE("cuDNN: a status is an error with its name, number and the library's text") {
  const struct {
    int status;
    std::uint32_t code;
  } rows[] = {{4003, KILN_CODE_RESOURCE_EXHAUSTED},  {4004, KILN_CODE_RESOURCE_EXHAUSTED},
              {1001, KILN_CODE_UNAVAILABLE},         {3000, KILN_CODE_UNIMPLEMENTED},
              {3007, KILN_CODE_UNIMPLEMENTED},       {1002, KILN_CODE_FAILED_PRECONDITION},
              {1008, KILN_CODE_FAILED_PRECONDITION}, {5000, KILN_CODE_INTERNAL}};
  CudnnFunctions functions;
  functions.get_error_string = [](CudnnStatus) { return "CUDNN_STATUS_NAME"; };
  for (const auto& row : rows) {
    functions.get_last_error = nullptr;
    const auto status = static_cast<CudnnStatus>(row.status);
    const kiln::sdk::Failure error = failure(functions, status, "convolve");
    const std::string text =
        "cannot convolve: CUDNN_STATUS_NAME (" + std::to_string(row.status) + ")";
    CHECK(error.code() == row.code);
    CHECK(error.what() == text);
    CHECK(error.native_library == "cuDNN");
    CHECK(error.native_code == row.status);
    functions.get_last_error = [](char* to, std::size_t) { to[0] = 'x', to[1] = '\n', to[2] = 0; };
    CHECK(failure(functions, status, "convolve").what() == text + ": x");
  }
  CHECK(text_of(CudnnFunctions(), CudnnStatus::BadParam) == "unknown cuDNN error (2000)");
}
