// Tests failures on demand, lost contexts, and counts.
#include "tests/backends/cuda_fakes/gpu_test.h"

using namespace kiln::fake_cuda;

namespace {

int code(Status status) { return static_cast<int>(status); }

}  // namespace

TEST_CASE("fake driver: the nth call fails, or every call") {
  const Gpu gpu(kFolder);
  const auto stream = make_stream(gpu);
  const DeviceMemory memory(gpu, stream, 16);
  const auto fill = [&] { return gpu->memset_8_async(memory, 0, 16, stream); };
  require_success(fill());
  REQUIRE(gpu.control.fail("cuMemsetD8Async", 2, code(Status::InvalidValue)) == 1);
  CHECK(fill() == Status::Success);
  CHECK(fill() == Status::InvalidValue);
  CHECK(fill() == Status::Success);
  REQUIRE(gpu.control.fail("cuMemsetD8Async", 0, code(Status::OutOfMemory)) == 1);
  CHECK(fill() == Status::OutOfMemory);
  CHECK(fill() == Status::OutOfMemory);
  gpu.control.reset();
  CHECK(fill() == Status::Success);
  // Only calls that succeeded are queued, besides the allocation.
  CHECK(gpu.control.usage().pending_operations == 5);
  CHECK(gpu.control.fail("cuNothing", 1, 1) == 0);
}

TEST_CASE("fake driver: calls are counted") {
  const Gpu gpu(kFolder);
  const int before = gpu.control.calls("cuStreamCreate");
  REQUIRE(gpu.control.fail("cuStreamCreate", 1, code(Status::OutOfMemory)) == 1);
  StreamHandle stream = nullptr;
  CHECK(gpu->stream_create(&stream, StreamFlags::NonBlocking) == Status::OutOfMemory);
  const auto second = make_stream(gpu);
  CHECK(gpu.control.calls("cuStreamCreate") == before + 2);
  CHECK(gpu.control.calls("cuNothing") == -1);
}

TEST_CASE("fake driver: a status that ends the context stays until the reset") {
  const Gpu gpu(kFolder);
  const auto stream = make_stream(gpu);
  const HostNumbers out(gpu, 1);
  DeviceMemory memory(gpu, stream, out.bytes());
  require_success(gpu->memset_32_async(memory, 1, 1, stream));
  REQUIRE(gpu.control.fail("cuStreamSynchronize", 1, code(Status::EccUncorrectable)) == 1);
  CHECK(gpu->stream_synchronize(stream) == Status::EccUncorrectable);
  CHECK(gpu->stream_synchronize(stream) == Status::EccUncorrectable);
  CHECK(gpu->memset_32_async(memory, 1, 1, stream) == Status::EccUncorrectable);
  CHECK(gpu.control.usage().pending_operations == 0);
  // The device itself answers, and what is destroyed is gone.
  int count = 0;
  CHECK(gpu->device_get_count(&count) == Status::Success);
  CHECK(memory.free() == Status::EccUncorrectable);
  CHECK(gpu.control.usage().allocations == 0);
  gpu.control.reset();
  CHECK(gpu->stream_synchronize(stream) == Status::Success);
}

TEST_CASE("fake driver: destroying functions that fail on demand destroy") {
  const Gpu gpu(kFolder);
  auto stream = make_stream(gpu);
  REQUIRE(gpu.control.fail("cuStreamDestroy", 1, code(Status::LaunchFailed)) == 1);
  CHECK(stream.reset() == Status::LaunchFailed);
  CHECK(gpu.control.usage().streams == 0);
}

TEST_CASE("fake driver: what is alive is counted") {
  const Gpu gpu(kFolder);
  const auto stream = make_stream(gpu), other = make_stream(gpu);
  const auto event = make_event(gpu);
  const HostNumbers host(gpu, 4);
  const DeviceMemory memory(gpu, stream, 1000);
  const FakeCudaUsage usage = gpu.control.usage();
  CHECK(usage.streams == 2);
  CHECK(usage.events == 1);
  CHECK(usage.host_allocations == 1);
  CHECK(usage.allocations == 1);
  CHECK(usage.bytes == 1000);
  CHECK(usage.max_bytes == 1000);
  CHECK(usage.retained_contexts == 1);
  CHECK(objects_alive(usage) == 6);
}
