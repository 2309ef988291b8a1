// Tests NCCL's stages, with stand-ins, and its status codes as errors.
#include "backends/cuda/api/api_failure.h"
#include "backends/cuda/api/open_nccl.h"
#include "tests/support/catch.h"
#include "tests/backends/cuda_api/stand_in.h"
#include "test_folders.h"

using namespace cuda_api_test;
using namespace kiln::cuda::api;

namespace {

/// The text of a failure, or the message of a success.
struct Opened {
  std::uint32_t code = 0;
  std::string text;
};

Opened opened(const StandIns& files) {
  const NcclSettings settings{.search_path = {.configured = {files.folder()},
                                              .plugin_folder = false,
                                              .system_search = false,
                                              .known_folders = {}}};
  Messages messages;
  const Caught caught = failure_of([&] { open_nccl(settings, messages); });
  CHECK(messages.size() == (caught.code == KILN_CODE_OK ? 1 : 0));
  return {caught.code, with_dir(messages.empty() ? caught.text : messages.front(), files.folder())};
}

}  // namespace

TEST_CASE("NCCL: a stage that fails names what was looked for and found") {
  const struct {
    const char *file, *library;
    std::uint32_t code;
    std::string text;  // of the failure, else the message
  } rows[] = {
      {"libnccl.so.2", "nccl", KILN_CODE_OK, "collectives: NCCL 2.28.9, DIR/libnccl.so.2"},
      // A wheel of Python.
      {"nvidia/nccl/lib/libnccl.so.2", "nccl", KILN_CODE_OK,
       "collectives: NCCL 2.28.9, DIR/nvidia/nccl/lib/libnccl.so.2"},
      {"libnccl.so.2", "nccl_2_17", KILN_CODE_FAILED_PRECONDITION,
       "NCCL DIR/libnccl.so.2 has version 2.17.1, but Kiln needs 2.18.0 or newer"},
      {"libnccl.so.2", "nccl_no_version", KILN_CODE_INTERNAL,
       "NCCL reports -1 as its version (ncclGetVersion), which is not from 0 to 9999999"},
      {"libnccl.so.2", "nccl_no_groups", KILN_CODE_UNIMPLEMENTED,
       "NCCL DIR/libnccl.so.2 lacks ncclGroupStart, ncclGroupEnd"},
      {"libnccl.so.3", "nccl", KILN_CODE_NOT_FOUND,
       "NCCL, NVIDIA's library of collectives, was not found: DIR/libnccl.so.2: no such file"},
  };
  for (const auto& row : rows) {
    const StandIns files(KILN_BINARY_DIR);
    files.add(row.file, row.library);
    INFO(row.text);
    const Opened found = opened(files);
    CHECK(found.code == row.code);
    CHECK(found.text == row.text);
  }
}

TEST_CASE("NCCL: a file that is no library") {
  const StandIns files(KILN_BINARY_DIR);
  files.write("libnccl.so.2", "text");
  const Opened found = opened(files);
  CHECK(found.code == KILN_CODE_FAILED_PRECONDITION);
  CHECK(found.text ==
        "NCCL, NVIDIA's library of collectives, cannot be loaded: DIR/libnccl.so.2: "
        "not an ELF file (no other folder is searched, since this one was named)");
}

TEST_CASE("NCCL: a status is an error with the library's text") {
  NcclFunctions nccl;
  CHECK(failure(nccl, NcclStatus::Remote, "add").what() ==
        std::string("cannot add: unknown NCCL error (6)"));
  nccl.get_error_string = [](NcclStatus) { return "remote process exited"; };
  nccl.get_last_error = [](NcclComm) { return "peer 2\n"; };
  const kiln::sdk::Failure remote = failure(nccl, NcclStatus::Remote, "add");
  CHECK(remote.what() == std::string("cannot add: remote process exited (6): peer 2\\n"));
  CHECK(remote.code() == KILN_CODE_ABORTED);
  CHECK(remote.native_library == "NCCL");
  CHECK(remote.native_code == 6);
  CHECK(failure(nccl, NcclStatus::System, "add").code() == KILN_CODE_UNAVAILABLE);
  CHECK(failure(nccl, NcclStatus::InvalidUsage, "add").code() == KILN_CODE_INTERNAL);
}
