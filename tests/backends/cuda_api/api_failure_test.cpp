// Tests status codes as errors of the plugin.
#include "backends/cuda/api/api_failure.h"
#include "tests/support/catch.h"
#include "tests/backends/cuda_api/stand_in.h"

using namespace cuda_api_test;
using namespace kiln::cuda::api;

namespace {

Status name_of(Status status, const char** text) {
  *text = "NAME";
  return status == Status::NotFound ? Status::InvalidValue : Status::Success;
}

Status string_of(Status, const char** text) {
  *text = "the driver's text";
  return Status::Success;
}

}  // namespace

TEST_CASE("api failure: codes, native codes and the end of a device") {
  struct Row {
    Status status;
    std::uint32_t code;
    bool ends;
  };
  const std::vector<Row> rows{{Status::OutOfMemory, KILN_CODE_RESOURCE_EXHAUSTED, false},
                              {Status::NoDevice, KILN_CODE_UNAVAILABLE, false},
                              {Status::InvalidValue, KILN_CODE_INTERNAL, false},
                              {Status::LaunchOutOfResources, KILN_CODE_INTERNAL, false},
                              {Status::NotSupported, KILN_CODE_UNIMPLEMENTED, false},
                              {Status::NotPermitted, KILN_CODE_PERMISSION_DENIED, false},
                              {Status::SystemDriverMismatch, KILN_CODE_FAILED_PRECONDITION, false},
                              {Status::IllegalAddress, KILN_CODE_DATA_LOSS, true},
                              {Status::MisalignedAddress, KILN_CODE_DATA_LOSS, true},
                              {Status::EccUncorrectable, KILN_CODE_DATA_LOSS, true},
                              {Status::LaunchFailed, KILN_CODE_DATA_LOSS, true},
                              {Status::LaunchTimeout, KILN_CODE_DATA_LOSS, true},
                              {Status::ContextIsDestroyed, KILN_CODE_DATA_LOSS, true},
                              {static_cast<Status>(4711), KILN_CODE_INTERNAL, false}};
  for (const Row& row : rows) {
    INFO(static_cast<std::uint32_t>(row.status));
    CHECK(ends_device(row.status) == row.ends);
    const Caught caught = failure_of([&] { check({}, row.status, "launch a kernel"); });
    CHECK(caught.code == row.code);
    CHECK(caught.library == "CUDA");
    CHECK(caught.native == static_cast<std::int64_t>(row.status));
  }
  CHECK(failure_of([] { check({}, Status::Success, "launch a kernel"); }).code == KILN_CODE_OK);
}

TEST_CASE("api failure: texts with and without the driver's") {
  DriverFunctions driver;
  CHECK(failure(driver, Status::OutOfMemory, "allocate 8 bytes").what() ==
        std::string("cannot allocate 8 bytes: CUDA_ERROR_OUT_OF_MEMORY (2)"));
  CHECK(text_of(driver, static_cast<Status>(4711)) == "unknown CUDA error (4711)");
  driver.get_error_name = name_of;
  driver.get_error_string = string_of;
  CHECK(text_of(driver, Status::OutOfMemory) == "NAME (2): the driver's text");
  CHECK(text_of(driver, Status::NotFound) == "CUDA_ERROR_NOT_FOUND (500): the driver's text");
  CHECK(text_of(NvrtcFunctions{}, NvrtcStatus::Internal) == "unknown NVRTC error (11)");
}
