// Tests numbers and texts that NVIDIA's libraries report wrongly, one at a time (lies.h): the error
// names the library, its function and the number, and the same program works without the lie.
#include "tests/support/catch.h"
#include "backends/abi/kiln_backend_sdk.h"
#include "backends/cuda/api/open_cublaslt.h"
#include "backends/cuda/api/open_cudnn.h"
#include "tests/backends/cuda/fake_convolutions.h"
#include "tests/backends/cuda/fake_matmuls.h"
#include "tests/backends/cuda/fresh_backend.h"
#include "tests/support/environment.h"
#include "tests/support/error_text.h"
#include "tests/support/scratch.h"
#include "test_folders.h"

#include <kiln/k.h>

using namespace kiln;
using cuda_test::FreshBackend;
using kiln::testing::EnvironmentVariable;
using kiln::testing::error_text;

namespace {

const std::string kBuild = KILN_BINARY_DIR;
const std::string kMaxU64 = "18446744073709551615";

/// A program that the lie meets.
enum class Use { Kernel, Matmul, Convolution };

Array drawn(const std::vector<std::int64_t>& dims) { return Array::full(dims, 0.5); }

/// Runs a new program on the backend, and checks its values against `reference`.
void run(Use use, const std::string& backend) {
  const std::vector<std::int64_t> dims = use == Use::Convolution
                                             ? std::vector<std::int64_t>{2, 6, 6, 4}
                                             : std::vector<std::int64_t>{4, 7};
  const Tensor x = placeholder({.shape = dims});
  Tensor y = relu(x * 3.0);
  if (use == Use::Matmul) y = dot(x, constant(drawn({7, 5})));
  if (use == Use::Convolution) y = conv2d(x, constant(drawn({3, 3, 4, 2})));
  const auto values = [&](const std::string& name) {
    return function({x}, {y}, {.backend = name})({drawn(dims)})[0];
  };
  const Array result = values(backend);  // may throw, which CHECK would catch
  CHECK(result == values("reference"));
}

struct Row {
  std::string lie, error;
  Use use = Use::Kernel;
};

const std::string kDriver = "the NVIDIA driver reports ";

std::vector<Row> rows_of_driver() {
  const std::string attribute = "CU_DEVICE_ATTRIBUTE_";
  const std::string by = " (cuDeviceGetAttribute), which is not ";
  std::vector<Row> rows{
      {"cuDriverGetVersion=-5",
       kDriver + "-5 as its version (cuDriverGetVersion), which is not from 0 to 1000000"},
      {"cuDriverGetVersion=2147483647", kDriver + "2147483647 as its version "},
      {"cuDeviceGetCount=-1",
       kDriver + "-1 as the number of devices (cuDeviceGetCount), which is not from 0 to 4096"},
      {"cuDeviceGetCount=2147483647", kDriver + "2147483647 as the number of devices "},
      {"cuDeviceTotalMem=0", kDriver + "0 as the bytes of the device (cuDeviceTotalMem), which is "
                                       "not from 1 to 72057594037927936"},
      {"cuDeviceTotalMem=" + kMaxU64, kDriver + kMaxU64 + " as the bytes of the device "},
      {"cuMemGetAllocationGranularity=0",
       kDriver + "0 as the granularity of memory (cuMemGetAllocationGranularity), which is not "
                 "from 1 to 1099511627776"},
      {"cuMemGetAllocationGranularity=" + kMaxU64, kDriver + kMaxU64 + " as the granularity of "},
      {"cuMemAllocFromPoolAsync=0",
       kDriver + "the address 0x0 for 56 bytes (cuMemAllocFromPoolAsync), which is null, not a "
                 "multiple of 256 or too large"},
      {"cuMemAllocFromPoolAsync=4104", kDriver + "the address 0x1008 for 56 bytes "},
      {"cuMemAddressReserve=256000001", kDriver + "the address 0xf424001 for "},
      {"cuMemAddressReserve=18446744073709551360", kDriver + "the address 0xffffffffffffff00 for "},
      {"cuMemHostAlloc=", kDriver + "no address for host memory (cuMemHostAlloc)"},
      {"cuOccupancyMaxActiveBlocksPerMultiprocessor=-1",
       kDriver + "-1 as the resident blocks of a kernel "
                 "(cuOccupancyMaxActiveBlocksPerMultiprocessor), which is not from 0 to 2048"},
      {"cuOccupancyMaxActiveBlocksPerMultiprocessor=2147483647",
       kDriver + "2147483647 as the resident blocks of a kernel "}};
  const struct {
    const char* name;
    std::vector<std::string> values;
    const char* range;
  } attributes[] = {
      {"COMPUTE_CAPABILITY_MAJOR", {"-8", "1000"}, "from 0 to 999"},
      {"COMPUTE_CAPABILITY_MINOR", {"-1", "10"}, "from 0 to 9"},
      {"MAX_THREADS_PER_BLOCK", {"-1", "0", "1", "2147483647"}, "from 64 to 65536"},
      {"MAX_GRID_DIM_X", {"-1", "0", "16"}, "from 65535 to 2147483647"},
      {"MULTIPROCESSOR_COUNT", {"-1", "0", "2147483647"}, "from 1 to 65536"},
      {"MAX_THREADS_PER_MULTIPROCESSOR", {"-2048", "0", "2147483647"}, "from 64 to 65536"}};
  for (const auto& one : attributes) {
    for (const std::string& value : one.values) {
      rows.push_back({attribute + one.name + "=" + value,
                      kDriver + value + " as " + attribute + one.name + by + one.range});
    }
  }
  return rows;
}

std::vector<Row> rows_of_compiler() {
  std::vector<Row> rows{
      {"nvrtcVersion=-1",
       "NVRTC reports -1 as its minor version (nvrtcVersion), which is not from 0 to 999"},
      {"nvrtcGetSupportedArchs=-90",
       "NVRTC reports -90 as an architecture "
       "(nvrtcGetSupportedArchs), which is not from 1 to 9999"},
      {"nvrtcGetCUBINSize=0",
       "NVRTC reports 0 as the bytes of a cubin (nvrtcGetCUBINSize), which "
       "is not from 1 to 1073741824"}};
  for (const std::string value : {"-1", "0", "2147483647"}) {
    rows.push_back({"nvrtcGetNumSupportedArchs=" + value,
                    "NVRTC reports " + value +
                        " as the number of architectures "
                        "(nvrtcGetNumSupportedArchs), which is not from 1 "
                        "to 4096"});
  }
  for (const std::string value : {"1073741825", "9223372036854775807", kMaxU64.c_str()}) {
    const std::string reports = "NVRTC reports " + value + " as the bytes of ";
    rows.push_back({"nvrtcGetCUBINSize=" + value, reports + "a cubin (nvrtcGetCUBINSize), "});
    rows.push_back({"nvrtcGetPTXSize=" + value, reports + "PTX (nvrtcGetPTXSize), which "});
    rows.push_back(
        {"nvrtcGetProgramLogSize=" + value, reports + "a log (nvrtcGetProgramLogSize), which "});
  }
  return rows;
}

std::vector<Row> rows_of_libraries() {
  std::vector<Row> rows;
  for (const std::string value : {"-1", "2", "2147483647"}) {
    rows.push_back({"cublasLtMatmulAlgoGetHeuristic=" + value,
                    "cuBLASLt reports " + value +
                        " as the number of algorithms "
                        "(cublasLtMatmulAlgoGetHeuristic), which is not "
                        "from 0 to 1",
                    Use::Matmul});
  }
  for (const std::string value : {"33554433", "9223372036854775807", kMaxU64.c_str()}) {
    rows.push_back({"a workspace of cuBLASLt=" + value,
                    "cuBLASLt reports " + value +
                        " as the bytes of a workspace "
                        "(cublasLtMatmulAlgoGetHeuristic), which is not "
                        "from 0 to 33554432",
                    Use::Matmul});
  }
  for (const std::string value : {"-1", "9223372036854775807"}) {
    rows.push_back({"a workspace of cuDNN=" + value,
                    "cuDNN reports " + value +
                        " as the bytes of a workspace "
                        "(cudnnBackendGetAttribute), which is not from 0 to "
                        "72057594037927936",
                    Use::Convolution});
  }
  const struct {
    const char* name;
    std::vector<std::string> values;
    const char* range;
  } counts[] = {{"CUDNN_ATTR_ENGINEHEUR_RESULTS", {"-1", "9223372036854775807"}, "0 to 4096"},
                {"CUDNN_ATTR_ENGINECFG_ENGINE", {"0", "-1", "2"}, "1 to 1"},
                {"CUDNN_ATTR_ENGINE_NUMERICAL_NOTE", {"-1", "33"}, "0 to 32"},
                {"CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE", {"0", "-1", "2"}, "1 to 1"}};
  for (const auto& one : counts) {
    for (const std::string& value : one.values) {
      rows.push_back({std::string(one.name) + "=" + value,
                      "cuDNN reports " + value + " as the number of values of " + one.name +
                          " (cudnnBackendGetAttribute), which is not from " + one.range,
                      Use::Convolution});
    }
  }
  return rows;
}

void check(const std::vector<Row>& rows) {
  cuda_test::fake_device(kBuild).reset();
  for (const Row& row : rows) {
    const FreshBackend backend(kBuild);
    {
      const EnvironmentVariable lie("KILN_TEST_CUDA_LIE", row.lie);
      INFO(row.lie);
      CHECK_THAT(error_text<Error>([&] { run(row.use, backend.path()); }),
                 Catch::Matchers::ContainsSubstring(row.error));
    }
    INFO("without " << row.lie);
    CHECK(error_text<Error>([&] { run(row.use, backend.path()); }) == "no error");
  }
}

/// The error of opening a library while it lies.
template <class Open, class Settings>
std::string error_of_opening(const std::string& lie, Open open, Settings settings) {
  const EnvironmentVariable variable("KILN_TEST_CUDA_LIE", lie);
  settings.search_path = fake_cuda::search_path_of(fake_cuda::library_folder(kBuild));
  cuda::api::Messages messages;
  try {
    open(settings, messages);
  } catch (const sdk::Failure& failure) {
    return failure.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("lies: numbers of the driver") { check(rows_of_driver()); }
TEST_CASE("lies: numbers of NVRTC") { check(rows_of_compiler()); }
TEST_CASE("lies: numbers of cuBLASLt and cuDNN") { check(rows_of_libraries()); }

TEST_CASE("lies: versions of the optional libraries") {
  const std::string range = ", which is not from 0 to 9999999";
  CHECK(error_of_opening("cublasLtGetVersion=" + kMaxU64, cuda::api::open_cublaslt,
                         cuda::api::CublasLtSettings()) ==
        "cuBLASLt reports " + kMaxU64 + " as its version (cublasLtGetVersion)" + range);
  // As an int, the version divided by 10,000 would be 12.
  CHECK(error_of_opening("cublasLtGetVersion=42949673080000", cuda::api::open_cublaslt,
                         cuda::api::CublasLtSettings()) ==
        "cuBLASLt reports 42949673080000 as its version (cublasLtGetVersion)" + range);
  CHECK(error_of_opening("cudnnGetVersion=" + kMaxU64, cuda::api::find_cudnn,
                         cuda::api::CudnnSettings()) ==
        "cuDNN reports " + kMaxU64 + " as its version (cudnnGetVersion)" + range);
  CHECK(error_of_opening("cudnnGetCudartVersion=4294967296", cuda::api::find_cudnn,
                         cuda::api::CudnnSettings()) ==
        "cuDNN reports 4294967296 as its CUDA version (cudnnGetCudartVersion)" + range);
}

TEST_CASE("lies: a number that only reports need does not stop a program") {
  cuda_test::fake_device(kBuild).reset();
  const EnvironmentVariable limit("KILN_CUDA_MEMORY_LIMIT", "100000000");
  for (const std::string& lie :
       {"cuMemPoolGetAttribute=" + kMaxU64, std::string("cuDeviceGetName=\n")}) {
    INFO(lie);
    const EnvironmentVariable variable("KILN_TEST_CUDA_LIE", lie);
    const FreshBackend backend(kBuild);
    CHECK(error_text<Error>([&] { run(Use::Kernel, backend.path()); }) == "no error");
  }
}

TEST_CASE("lies: texts without an end, and names that are missing") {
  const auto& control = cuda_test::fake_device(kBuild);
  control.reset();
  const FreshBackend backend(kBuild);
  run(Use::Kernel, backend.path());
  {
    const EnvironmentVariable lie("KILN_TEST_CUDA_LIE", std::string("cuGetErrorString=\x01"));
    control.fail("cuLibraryLoadData", 0, 200);
    const std::string error = error_text<Error>([&] { run(Use::Kernel, backend.path()); });
    control.reset();
    CHECK_THAT(error, Catch::Matchers::ContainsSubstring(
                          "cannot load kernels: CUDA_ERROR_INVALID_IMAGE (200): \\x01\\x01"));
    CHECK(error.size() < 20000);
  }
  const EnvironmentVariable lie("KILN_TEST_CUDA_LIE", std::string("cublasLtGetStatusName=null"));
  cuda_test::fake_matmuls(kBuild).fail("cublasLtMatmulDescCreate", 0, 7);
  const std::string error = error_text<Error>([&] { run(Use::Matmul, backend.path()); });
  cuda_test::fake_matmuls(kBuild).reset();
  CHECK_THAT(error, Catch::Matchers::ContainsSubstring(
                        "cannot describe a matmul: unknown cuBLASLt error (7)"));
}

TEST_CASE("lies: a time that is no number is the reason why a call is not timed") {
  cuda_test::fake_device(kBuild).reset();
  const FreshBackend backend(kBuild);
  const Tensor x = placeholder({.shape = {4}});
  const Function f = function({x}, {relu(x * 3.0)}, {.backend = backend.path()});
  const testing::Scratch scratch;
  f({drawn({4})});
  f.dump(scratch.path("wanted"), Stage::Timings);
  for (const std::string value : {"nan", "-1", "inf"}) {
    const EnvironmentVariable lie("KILN_TEST_CUDA_LIE", "cuEventElapsedTime=" + value);
    CHECK(f({drawn({4})})[0] == Array::full({4}, 1.5));
  }
  f.dump(scratch.path("f"), Stage::Timings);
  CHECK_THAT(testing::contents_of(scratch.path("f/70-timings-calls.txt")),
             Catch::Matchers::ContainsSubstring(
                 "# 3 calls were not timed: the NVIDIA driver reports nan as the milliseconds "
                 "between two events (cuEventElapsedTime)\n"));
}
