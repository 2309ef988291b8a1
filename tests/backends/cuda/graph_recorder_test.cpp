// A GraphRecorder alone, on the fake driver: no graph leaks when host memory ends.
#include "backends/cuda/device/memory_pool.h"
#include "backends/cuda/execute/call_graphs.h"
#include "backends/cuda/execute/fill_with_zeros.h"
#include "tests/backends/cuda/failing_allocation.h"
#include "tests/backends/cuda_fakes/gpu_test.h"
#include "tests/support/scratch.h"
#include "test_folders.h"

#include <filesystem>
#include <new>

using namespace kiln;
using fake_cuda::Gpu;
using fake_cuda::objects_alive;

namespace {

constexpr std::int64_t kBytes = 64;
constexpr std::int64_t kOperationsOfGraph = 4096;  // as in call_graphs.cpp

/// Records two graphs of one operation each.
std::unique_ptr<cuda::SegmentGraphs> record(const std::shared_ptr<const cuda::Device>& device,
                                            const cuda::Stream& stream,
                                            cuda::api::DeviceAddress memory) {
  cuda::GraphRecorder recorder(device, stream, 0);
  cuda::fill_with_zeros(stream, memory, kBytes);
  recorder.between_steps(kOperationsOfGraph);
  cuda::fill_with_zeros(stream, memory, kBytes);
  return recorder.finish();
}

}  // namespace

TEST_CASE("GraphRecorder: each host allocation of a recording fails") {
  // A copy of the fake driver, whose device nothing else uses.
  const testing::Scratch scratch;
  const std::string name = "/libcuda.so.1";
  std::filesystem::copy_file(fake_cuda::library_folder(KILN_BINARY_DIR) + name,
                             scratch.folder() + name);
  const Gpu gpu(scratch.folder());
  const auto device = std::make_shared<const cuda::Device>(
      gpu.driver, cuda::api::DeviceIdentity{.ordinal = 0, .name = "Fake GPU"});
  const auto pool = std::make_shared<cuda::MemoryPool>(device, INT64_MAX);
  const cuda::Stream stream(device);
  const cuda::DeviceMemory memory = pool->allocate(kBytes, "a test");
  record(device, stream, memory.address());
  const std::size_t alive = objects_alive(gpu.control.usage());
  int failures = 0;
  for (std::int64_t nth = 1;; ++nth) {
    INFO("allocation " << nth);
    bool is_error = false;
    cuda_test::fail_allocation(nth);
    try {
      record(device, stream, memory.address());
    } catch (const std::bad_alloc&) {
      is_error = true;
    } catch (const sdk::Failure&) {  // of the fake driver, which allocates, too
      is_error = true;
    }
    const bool has_failed = cuda_test::has_failed_allocation();
    cuda_test::fail_allocation(0);
    CHECK(objects_alive(gpu.control.usage()) == alive);
    if (!has_failed) break;
    failures += is_error;
    REQUIRE(nth < 1000);
  }
  CHECK(failures >= 4);
  record(device, stream, memory.address())->launch(stream, [] {});
  stream.synchronize();
}
