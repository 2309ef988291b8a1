// Tests the instance's pool and arenas alone, on the fake driver: reuse, trimming, and errors of
// each function that an arena calls.
#include "backends/cuda/device/device_buffer.h"
#include "tests/backends/cuda/fake_device.h"
#include "tests/support/catch.h"
#include "tests/backends/cuda_fakes/gpu_test.h"
#include "tests/support/scratch.h"
#include "test_folders.h"

#include <filesystem>
#include <functional>
#include <optional>

using namespace kiln;
using fake_cuda::Gpu;
using fake_cuda::objects_alive;

namespace {

using cuda_test::kMiB;
using cuda_test::kOutOfMemory;
constexpr int kOperatingSystem = 304;

/// A copy of the fake driver, whose device nothing else uses.
class OwnDriver {
 public:
  OwnDriver() {
    const std::string name = "/libcuda.so.1";
    std::filesystem::copy_file(fake_cuda::library_folder(KILN_BINARY_DIR) + name,
                               scratch_.folder() + name);
  }
  const std::string& folder() const { return scratch_.folder(); }

 private:
  testing::Scratch scratch_;
};

/// Resources of an instance on the fake device.
struct Instance {
  explicit Instance(const Gpu& gpu, std::int64_t limit = INT64_MAX)
      : device(std::make_shared<const cuda::Device>(
            gpu.driver, cuda::api::DeviceIdentity{.ordinal = 0, .name = "Fake GPU"})),
        memory(std::make_shared<cuda::MemoryPool>(device, limit)),
        streams(std::make_shared<cuda::StreamPool>(memory)) {}

  cuda::DeviceMemory allocate(std::int64_t bytes) const {
    return memory->allocate(bytes, "a test");
  }

  std::shared_ptr<const cuda::Device> device;
  std::shared_ptr<cuda::MemoryPool> memory;
  std::shared_ptr<cuda::StreamPool> streams;
};

std::string rejection(const std::function<void()>& action) {
  try {
    action();
  } catch (const sdk::Failure& failure) {
    CHECK(failure.code() == KILN_CODE_RESOURCE_EXHAUSTED);
    return failure.what();
  }
  return "";
}

std::size_t free_bytes(const Gpu& gpu) {
  std::size_t left = 0, total = 0;
  fake_cuda::require_success(gpu->mem_get_info(&left, &total));
  return left;
}

}  // namespace

TEST_CASE("memory pool: freed memory stays with the instance, and goes with it") {
  const OwnDriver driver;
  const Gpu gpu(driver.folder());
  const std::size_t all = free_bytes(gpu), alive = objects_alive(gpu.control.usage());
  {
    const Instance instance(gpu);
    CHECK(gpu.control.usage().pools == 1);
    // Each allocation synchronizes, which completes all frees but the one after it: two blocks.
    for (int i = 0; i < 9; ++i) instance.allocate(5000);
    CHECK(free_bytes(gpu) == all - 2 * 5120);
    CHECK(instance.allocate(0).address() == 0);
  }
  CHECK(free_bytes(gpu) == all);
  CHECK(objects_alive(gpu.control.usage()) == alive);
}

TEST_CASE("memory pool: two instances have pools of their own") {
  const OwnDriver driver;
  const Gpu gpu(driver.folder());
  gpu.control.limit_memory(8192);
  const Instance one(gpu), two(gpu);
  {
    const cuda::DeviceMemory memory = one.allocate(6000);
  }
  // The other instance cannot use memory that the first one keeps.
  CHECK_THAT(rejection([&] { two.allocate(6000); }),
             Catch::Matchers::StartsWith(
                 "device 0 (Fake GPU) has no memory for 6000 bytes of a test: 0 bytes are in use "
                 "by Kiln, 2048 of 8192 are free"));
  one.memory->release();
  CHECK_NOTHROW(two.allocate(6000));
}

TEST_CASE("memory pool: pieces that are too small are given back before an error") {
  const OwnDriver driver;
  const Gpu gpu(driver.folder());
  gpu.control.limit_memory(8192);
  const Instance instance(gpu);
  {
    const cuda::DeviceMemory a = instance.allocate(4000), b = instance.allocate(4000);
    CHECK_THAT(rejection([&] { instance.allocate(1); }),
               Catch::Matchers::StartsWith(
                   "device 0 (Fake GPU) has no memory for 1 bytes of a test: 8000 bytes are in "
                   "use by Kiln, 0 of 8192 are free, 8192 are held by Kiln"));
  }
  CHECK_NOTHROW(instance.allocate(8000));
}

TEST_CASE("memory pool: the limit counts what is in use, and arenas of idle streams are freed") {
  const OwnDriver driver;
  const Gpu gpu(driver.folder());
  const Instance instance(gpu, 10 * kMiB);
  {
    cuda::StreamLease lease(*instance.streams);
    lease.arena().grow(6 * kMiB, "a call");
    CHECK_THAT(rejection([&] { instance.allocate(5 * kMiB); }),
               Catch::Matchers::StartsWith(
                   "device 0 (Fake GPU) has no memory for 5242880 bytes of a test: 6291456 bytes "
                   "are in use by Kiln, whose limit is 10485760, "));
    CHECK_NOTHROW(instance.allocate(4 * kMiB));
  }
  const cuda::DeviceMemory memory = instance.allocate(5 * kMiB);
  CHECK(rejection([&] { instance.allocate(6 * kMiB); }) != "");
  CHECK_NOTHROW(instance.allocate(5 * kMiB));
}

TEST_CASE("memory pool: the limit bounds freed memory that the pool keeps") {
  const OwnDriver driver;
  const Gpu gpu(driver.folder());
  const std::size_t all = free_bytes(gpu);
  const Instance limited(gpu, kMiB), unlimited(gpu);
  for (std::int64_t bytes = 4096; bytes < kMiB; bytes += 64'000) {
    limited.allocate(bytes);
    CHECK(all - free_bytes(gpu) <= static_cast<std::size_t>(kMiB));
  }
  for (std::int64_t bytes = 4096; bytes < kMiB; bytes += 64'000) unlimited.allocate(bytes);
  CHECK(all - free_bytes(gpu) > static_cast<std::size_t>(2 * kMiB));
}

TEST_CASE("memory pool: a device without memory gets arenas of idle streams back") {
  const OwnDriver driver;
  const Gpu gpu(driver.folder());
  gpu.control.limit_memory(static_cast<std::size_t>(10 * kMiB));
  const Instance instance(gpu);
  std::optional<cuda::StreamLease> first(std::in_place, *instance.streams);
  first->arena().grow(6 * kMiB, "a call");
  {
    cuda::StreamLease second(*instance.streams);
    CHECK(rejection([&] { second.arena().grow(6 * kMiB, "a call"); }) != "");
    first.reset();
    CHECK_NOTHROW(second.arena().grow(6 * kMiB, "a call"));
  }
  CHECK_NOTHROW(instance.allocate(9 * kMiB));
}

TEST_CASE("memory pool: the driver's own allocations get kept memory back") {
  const OwnDriver driver;
  const Gpu gpu(driver.folder());
  const Instance instance(gpu);
  {
    cuda::StreamLease(*instance.streams).arena().grow(kMiB, "a call");
  }
  {
    const cuda::DeviceMemory memory = instance.allocate(5000);
  }
  REQUIRE(gpu.control.usage().allocations == 1);
  gpu.control.fail("cuStreamCreate", 1, kOutOfMemory);
  CHECK_NOTHROW(cuda::Stream(instance.device));
  CHECK(gpu.control.usage().allocations == 0);
  CHECK(free_bytes(gpu) == std::size_t{4} << 30);
  gpu.control.fail("cuStreamCreate", 1, kOutOfMemory);
  gpu.control.fail("cuStreamCreate", 2, kOutOfMemory);
  CHECK(rejection([&] { const cuda::Stream stream(instance.device); }) ==
        "cannot create a stream: CUDA_ERROR_OUT_OF_MEMORY (2): an error of the fake driver");
}

TEST_CASE("stream pool: a lease has the stream that it wants if that one is idle") {
  const OwnDriver driver;
  const Gpu gpu(driver.folder());
  const Instance instance(gpu);
  const cuda::StagedStream *first = nullptr, *second = nullptr;
  {
    const cuda::StreamLease a(*instance.streams), b(*instance.streams);
    first = a.id();
    second = b.id();
  }
  for (const cuda::StagedStream* wanted : {first, second, first, first, second, second}) {
    CHECK(cuda::StreamLease(*instance.streams, wanted).id() == wanted);
  }
  const cuda::StreamLease a(*instance.streams, first), b(*instance.streams, first);
  CHECK(b.id() == second);
  CHECK(gpu.control.usage().streams == 3);  // with that of the memory pool
}

TEST_CASE("arena: growth keeps the address and the contents") {
  const OwnDriver driver;
  const Gpu gpu(driver.folder());
  const Instance instance(gpu);
  cuda::StreamLease lease(*instance.streams);
  cuda::StreamArena& arena = lease.arena();
  arena.grow(100, "a call");
  const cuda::api::DeviceAddress begin = arena.address();
  CHECK(begin % 256 == 0);
  std::vector<int> numbers(25, 7), found(25);
  lease.staging().upload(begin, numbers.data(), 100);
  lease.staging().finish();
  arena.grow(3 * kMiB, "a call");
  arena.grow(2 * kMiB, "a call");
  CHECK(arena.address() == begin);
  CHECK(arena.generation() == 0);
  CHECK(gpu.control.usage().bytes == static_cast<std::size_t>(4 * kMiB));
  lease.staging().download(found.data(), begin, 100);
  lease.staging().finish();
  CHECK(found == numbers);
  arena.grow(3 * kMiB, "a call");
  arena.release_unused();
  CHECK(arena.generation() == 0);
  arena.finish();
  arena.release_unused();
  CHECK(gpu.control.usage().allocations == 0);
  CHECK(arena.generation() == 1);
  arena.grow(5 * kMiB, "a call");
  CHECK(arena.address() == begin);
  CHECK(rejection([&] { arena.grow(INT64_MAX / 2, "a call"); }) != "");
  CHECK(rejection([&] { arena.grow(5000 * kMiB, "a call"); }) != "");
  CHECK(gpu.control.usage().bytes == static_cast<std::size_t>(6 * kMiB));
}

TEST_CASE("arena: memory that a running call does not need goes to others") {
  const OwnDriver driver;
  const Gpu gpu(driver.folder());
  const Instance instance(gpu, 10 * kMiB);
  for (const std::int64_t bytes : {kMiB, 8 * kMiB}) {
    cuda::StreamLease lease(*instance.streams);
    lease.arena().grow(bytes, "a call");
  }
  cuda::StreamLease lease(*instance.streams);
  lease.arena().grow(100, "a call");
  CHECK(gpu.control.usage().bytes == static_cast<std::size_t>(8 * kMiB));
  cuda::StreamLease other(*instance.streams);
  other.arena().grow(7 * kMiB, "another call");
  CHECK(lease.arena().generation() == 1);
  CHECK(gpu.control.usage().bytes == static_cast<std::size_t>(10 * kMiB));
  CHECK(rejection([&] { lease.arena().grow(3 * kMiB, "a call"); }) != "");
  CHECK(gpu.control.usage().bytes == static_cast<std::size_t>(10 * kMiB));
}

TEST_CASE("arena: large growth is all or nothing") {
  const OwnDriver driver;
  const Gpu gpu(driver.folder());
  const Instance instance(gpu);
  cuda::StreamLease lease(*instance.streams);
  lease.arena().grow(kMiB, "a call");
  gpu.control.limit_memory(static_cast<std::size_t>(140 * kMiB));
  // Two chunks of three fit.
  CHECK_THAT(rejection([&] { lease.arena().grow(150 * kMiB, "a call"); }),
             Catch::Matchers::ContainsSubstring(": 2097152 bytes are in use by Kiln, "));
  CHECK(gpu.control.usage().bytes == static_cast<std::size_t>(2 * kMiB));
  gpu.control.limit_memory(static_cast<std::size_t>(200 * kMiB));
  CHECK_NOTHROW(lease.arena().grow(150 * kMiB, "a call"));
  CHECK(gpu.control.usage().bytes == static_cast<std::size_t>(150 * kMiB));
}

TEST_CASE("arena: after an error of the driver it is as before, and grows later") {
  const OwnDriver driver;
  const Gpu gpu(driver.folder());
  const std::size_t alive = objects_alive(gpu.control.usage());
  for (const char* function :
       {"cuMemGetAllocationGranularity", "cuDeviceTotalMem", "cuMemAddressReserve", "cuMemCreate",
        "cuMemMap", "cuMemSetAccess", "cuMemRelease", "cuMemUnmap", "cuMemAddressFree"}) {
    for (const int call : {1, 2}) {
      INFO(function << ", call " << call);
      {
        const Instance instance(gpu);
        cuda::StreamLease lease(*instance.streams);
        gpu.control.fail(function, call, kOperatingSystem);
        int errors = 0;
        for (const std::int64_t bytes : {kMiB, 3 * kMiB, 3 * kMiB, 5 * kMiB}) {
          try {
            lease.arena().grow(bytes, "a call");
          } catch (const sdk::Failure& failure) {
            ++errors;
            CHECK(failure.native_code == kOperatingSystem);
          }
        }
        CHECK(errors <= 1);
        CHECK(gpu.control.usage().bytes == static_cast<std::size_t>(6 * kMiB));
        CHECK(gpu.control.usage().ranges == 1);
        gpu.control.reset();
      }
      CHECK(objects_alive(gpu.control.usage()) == alive);
    }
  }
}
