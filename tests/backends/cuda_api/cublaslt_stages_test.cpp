// Tests cuBLASLt's stages, with stand-ins, and its status codes as errors.
#include "backends/cuda/api/api_failure.h"
#include "backends/cuda/api/open_cublaslt.h"
#include "tests/support/catch.h"
#include "tests/backends/cuda_api/stand_in.h"
#include "test_folders.h"

using namespace cuda_api_test;
using namespace kiln::cuda::api;

namespace {

CublasLtSettings cublaslt_settings_of(const StandIns& files, int driver_version) {
  CublasLtSettings settings;
  settings.search_path = {.configured = {files.folder()},
                          .plugin_folder = false,
                          .system_search = false,
                          .known_folders = {}};
  settings.driver_version = driver_version;
  return settings;
}

}  // namespace

TEST_CASE("cuBLASLt: a stage that fails names what was looked for and found") {
  struct Row {
    std::vector<std::pair<std::string, std::string>> copies;  // name, stand-in
    int driver_version;
    std::uint32_t code;
    std::string text;  // of the failure, else the message
  };
  const std::string absent = "cuBLASLt, NVIDIA's library of matmuls, was not found: ";
  const std::string limit = "; a driver for CUDA 12.4 cannot run cuBLASLt 13 or newer";
  const std::vector<Row> rows{
      {{},
       0,
       KILN_CODE_NOT_FOUND,
       absent + "DIR/libcublasLt.so.13: no such file; DIR/libcublasLt.so.12: no such file"},
      {{{"libcublasLt.so.13", "cublaslt_13"}},
       12040,
       KILN_CODE_NOT_FOUND,
       absent + "DIR/libcublasLt.so.12: no such file" + limit},
      {{{"libcublasLt.so.12", "cublaslt_13"}},
       12040,
       KILN_CODE_FAILED_PRECONDITION,
       "cuBLASLt DIR/libcublasLt.so.12 has version 13.1.0, but Kiln needs major version 12 to 12" +
           limit},
      {{{"libcublasLt.so.12", "cublaslt_11"}},
       0,
       KILN_CODE_FAILED_PRECONDITION,
       "cuBLASLt DIR/libcublasLt.so.12 has version 11.11.3, but Kiln needs major version 12 to 13"},
      {{{"libcublasLt.so.12", "cublaslt"}},
       11080,
       KILN_CODE_FAILED_PRECONDITION,
       "Kiln needs cuBLASLt 12 or newer; a driver for CUDA 11.8 cannot run cuBLASLt 12 or newer"},
      {{{"libcublasLt.so.13", "cublaslt_13"}, {"libcublasLt.so.12", "cublaslt"}},
       13000,
       KILN_CODE_OK,
       "matmuls: cuBLASLt 13.1.0, DIR/libcublasLt.so.13"},
      {{{"libcublasLt.so.13", "cublaslt_13"}, {"libcublasLt.so.12", "cublaslt"}},
       12040,
       KILN_CODE_OK,
       "matmuls: cuBLASLt 12.4.0, DIR/libcublasLt.so.12"}};
  for (const Row& row : rows) {
    const StandIns files(KILN_BINARY_DIR);
    for (const auto& [name, fake] : row.copies) files.add(name, fake);
    INFO(row.text);
    Messages messages;
    const Caught caught = failure_of(
        [&] { open_cublaslt(cublaslt_settings_of(files, row.driver_version), messages); });
    CHECK(caught.code == row.code);
    REQUIRE(messages.size() == (row.code == KILN_CODE_OK ? 1 : 0));
    const std::string text = messages.empty() ? caught.text : messages.front();
    CHECK(with_dir(text, files.folder()) == row.text);
  }
}

TEST_CASE("cuBLASLt: every missing function is named") {
  const StandIns files(KILN_BINARY_DIR);
  files.add("libcublasLt.so.12", "cublaslt_no_matmul");
  Messages messages;
  const Caught caught =
      failure_of([&] { open_cublaslt(cublaslt_settings_of(files, 12040), messages); });
  CHECK(caught.code == KILN_CODE_UNIMPLEMENTED);
  CHECK(with_dir(caught.text, files.folder())
            .starts_with("cuBLASLt DIR/libcublasLt.so.12 lacks cublasLtCreate, cublasLtDestroy, "));
  CHECK(caught.text.ends_with("cublasLtMatmulAlgoGetHeuristic, cublasLtMatmul"));
}

TEST_CASE("cuBLASLt: a status is an error with its name and number") {
  const struct {
    CublasStatus status;
    std::uint32_t code;
  } rows[] = {{CublasStatus::AllocationFailed, KILN_CODE_RESOURCE_EXHAUSTED},
              {CublasStatus::NotInitialized, KILN_CODE_UNAVAILABLE},
              {CublasStatus::NotSupported, KILN_CODE_UNIMPLEMENTED},
              {CublasStatus::ArchitectureMismatch, KILN_CODE_UNIMPLEMENTED},
              {CublasStatus::ExecutionFailed, KILN_CODE_INTERNAL}};
  CublasLtFunctions functions;
  functions.get_status_name = [](CublasStatus) { return "CUBLAS_STATUS_NAME"; };
  for (const auto& row : rows) {
    const kiln::sdk::Failure error = failure(functions, row.status, "multiply");
    const auto number = static_cast<std::int64_t>(row.status);
    CHECK(error.code() == row.code);
    CHECK(error.what() == "cannot multiply: CUBLAS_STATUS_NAME (" + std::to_string(number) + ")");
    CHECK(error.native_library == "cuBLASLt");
    CHECK(error.native_code == number);
  }
  CHECK(text_of(CublasLtFunctions(), CublasStatus::InvalidValue) == "unknown cuBLASLt error (7)");
}
