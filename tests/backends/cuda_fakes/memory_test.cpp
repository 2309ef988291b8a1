// Tests memory of the device and of the host: poison, lifetimes, limits.
#include "tests/backends/cuda_fakes/gpu_test.h"

using namespace kiln::fake_cuda;

namespace {

std::uint64_t attribute(const Gpu& gpu, PoolAttribute which) {
  PoolHandle pool = nullptr;
  std::uint64_t value = 0;
  require_success(gpu->device_get_default_mem_pool(&pool, 0));
  require_success(gpu->mem_pool_get_attribute(pool, which, &value));
  return value;
}

}  // namespace

TEST_CASE("fake driver: fresh memory is poisoned, and fills work") {
  const Gpu gpu(kFolder);
  const auto stream = make_stream(gpu);
  const HostNumbers out(gpu, 4);
  for (std::size_t i = 0; i < 4; ++i) out[i] = 0;
  const DeviceMemory memory(gpu, stream, out.bytes());
  CHECK(memory % 512 == 0);
  require_success(gpu->memset_32_async(memory + 4, 17, 1, stream));
  require_success(gpu->memset_8_async(memory + 8, 1, 4, stream));
  require_success(download(gpu, out, memory, stream));
  require_success(gpu->stream_synchronize(stream));
  CHECK(out.all() == std::vector<int>{kPoisoned, 17, 0x01010101, kPoisoned});
  CHECK(gpu->memset_32_async(memory + 2, 17, 1, stream) == Status::InvalidValue);
}

TEST_CASE("fake driver: copies on the device") {
  const Gpu gpu(kFolder);
  const auto stream = make_stream(gpu);
  const HostNumbers in(gpu, {1, 2, 3, 4}), out(gpu, 4);
  const DeviceMemory memory(gpu, stream, in.bytes());
  require_success(upload(gpu, memory, in, stream));
  require_success(gpu->memcpy_device_to_device_async(memory + 8, memory, 8, stream));
  require_success(download(gpu, out, memory, stream));
  require_success(gpu->stream_synchronize(stream));
  CHECK(out.all() == std::vector<int>{1, 2, 1, 2});
  const auto overlapping = gpu->memcpy_device_to_device_async(memory + 4, memory, 8, stream);
  CHECK(overlapping == Status::InvalidValue);
}

TEST_CASE("fake driver: the host copies through page-locked memory alone") {
  const Gpu gpu(kFolder);
  const auto stream = make_stream(gpu);
  const DeviceMemory memory(gpu, stream, 64);
  const HostNumbers locked(gpu, 4);
  std::vector<int> plain(4);
  CHECK(gpu->memcpy_host_to_device_async(memory, plain.data(), 16, stream) == Status::InvalidValue);
  CHECK(gpu->memcpy_device_to_host_async(plain.data(), memory, 16, stream) == Status::InvalidValue);
  CHECK(gpu->memcpy_host_to_device_async(memory, locked.data(), 17, stream) ==
        Status::InvalidValue);
  CHECK(gpu->mem_free_host(plain.data()) == Status::InvalidValue);
}

TEST_CASE("fake driver: an address that is not live when the operation runs ends the context") {
  const Gpu gpu(kFolder);
  const auto stream = make_stream(gpu), other = make_stream(gpu);
  HostNumbers host(gpu, 4);
  DeviceMemory memory(gpu, stream, host.bytes());
  SECTION("null") { require_success(download(gpu, host, 0, stream)); }
  SECTION("behind the end") { require_success(download(gpu, host, memory + 4, stream)); }
  SECTION("a host's address") {
    const auto address = reinterpret_cast<DeviceAddress>(host.data());
    require_success(download(gpu, host, address, stream));
  }
  SECTION("freed before") {
    const DeviceAddress address = memory;
    require_success(memory.free());
    require_success(download(gpu, host, address, stream));
  }
  SECTION("allocated by a stream that nobody waited for") {
    const DeviceMemory foreign(gpu, other, host.bytes());
    require_success(download(gpu, host, foreign, stream));
    CHECK(gpu->stream_synchronize(stream) == Status::IllegalAddress);
  }
  SECTION("page-locked memory that is freed") {
    void* locked = nullptr;
    require_success(gpu->mem_host_alloc(&locked, 16, HostMemoryFlags::Portable));
    require_success(gpu->memcpy_device_to_host_async(locked, memory, 16, stream));
    require_success(gpu->mem_free_host(locked));
  }
  CHECK(gpu->stream_synchronize(stream) == Status::IllegalAddress);
  // Every later call fails, in every stream; objects are destroyed nevertheless.
  StreamHandle none = nullptr;
  CHECK(gpu->stream_create(&none, StreamFlags::NonBlocking) == Status::IllegalAddress);
  CHECK(gpu->stream_synchronize(other) == Status::IllegalAddress);
  CHECK(gpu->memset_8_async(memory, 0, 1, other) == Status::IllegalAddress);
}

TEST_CASE("fake driver: blocks are freed once") {
  const Gpu gpu(kFolder);
  const auto stream = make_stream(gpu);
  DeviceAddress address = 0;
  CHECK(gpu->mem_alloc_async(&address, 0, stream) == Status::InvalidValue);
  require_success(gpu->mem_alloc_async(&address, 100, stream));
  CHECK(gpu.control.usage().allocations == 1);
  CHECK(gpu.control.usage().bytes == 100);
  CHECK(gpu->mem_free_async(address + 4, stream) == Status::InvalidValue);
  require_success(gpu->mem_free_async(address, stream));
  CHECK(gpu->mem_free_async(address, stream) == Status::InvalidValue);
  CHECK(gpu.control.usage().allocations == 0);
  CHECK(gpu.control.usage().max_bytes == 100);
}

TEST_CASE("fake driver: memory has a limit") {
  const Gpu gpu(kFolder);
  const auto stream = make_stream(gpu), other = make_stream(gpu);
  gpu.control.limit_memory(8192);
  std::size_t free = 0, total = 0;
  require_success(gpu->mem_get_info(&free, &total));
  CHECK(total == 8192);
  CHECK(free == 8192);
  require_success(gpu->device_total_mem(&total, 0));
  CHECK(total == 8192);
  DeviceMemory first(gpu, stream, 4096);
  DeviceAddress second = 0;
  CHECK(gpu->mem_alloc_async(&second, 4097, other) == Status::OutOfMemory);
  require_success(gpu->mem_get_info(&free, &total));
  CHECK(free == 4096);
  // Memory whose release is queued can be had again.
  require_success(first.free());
  require_success(gpu->mem_alloc_async(&second, 4096, other));
  require_success(gpu->mem_free_async(second, other));
}

TEST_CASE("fake driver: the pool keeps memory up to its threshold") {
  const Gpu gpu(kFolder);
  const auto stream = make_stream(gpu);
  PoolHandle pool = nullptr;
  require_success(gpu->device_get_default_mem_pool(&pool, 0));
  std::uint64_t threshold = 2048, zero = 0;
  require_success(gpu->mem_pool_set_attribute(pool, PoolAttribute::ReleaseThreshold, &threshold));
  require_success(gpu->mem_pool_set_attribute(pool, PoolAttribute::MaxUsedBytes, &zero));
  require_success(gpu->stream_synchronize(stream));
  DeviceMemory memory(gpu, stream, 4000);
  CHECK(attribute(gpu, PoolAttribute::UsedBytes) == 4096);
  CHECK(attribute(gpu, PoolAttribute::ReservedBytes) == 4096);
  require_success(memory.free());
  CHECK(attribute(gpu, PoolAttribute::UsedBytes) == 4096);
  require_success(gpu->stream_synchronize(stream));
  CHECK(attribute(gpu, PoolAttribute::UsedBytes) == 0);
  CHECK(attribute(gpu, PoolAttribute::MaxUsedBytes) == 4096);
  CHECK(attribute(gpu, PoolAttribute::ReservedBytes) == 2048);
  require_success(gpu->mem_pool_trim_to(pool, 0));
  CHECK(attribute(gpu, PoolAttribute::ReservedBytes) == 0);
  require_success(gpu->mem_pool_set_attribute(pool, PoolAttribute::ReleaseThreshold, &zero));
}

TEST_CASE("fake driver: freed memory stays reserved in chunks until a pool is trimmed") {
  const Gpu gpu(kFolder);
  const auto stream = make_stream(gpu);
  gpu.control.limit_memory(8192);
  const PoolProperties properties;
  PoolHandle pool = nullptr;
  require_success(gpu->mem_pool_create(&pool, &properties));
  CHECK(gpu.control.usage().pools == 1);
  std::uint64_t threshold = UINT64_MAX;
  require_success(gpu->mem_pool_set_attribute(pool, PoolAttribute::ReleaseThreshold, &threshold));
  DeviceAddress address[2] = {}, large = 0;
  for (DeviceAddress& one : address) {
    require_success(gpu->mem_alloc_from_pool_async(&one, 3000, pool, stream));
  }
  CHECK(gpu->mem_pool_destroy(pool) == Status::InvalidValue);
  require_success(gpu->stream_synchronize(stream));
  for (const DeviceAddress one : address) require_success(gpu->mem_free_async(one, stream));
  CHECK(gpu->mem_free_async(address[0], stream) == Status::InvalidValue);
  CHECK(gpu->mem_pool_destroy(pool) == Status::InvalidValue);
  require_success(gpu->stream_synchronize(stream));
  CHECK(gpu->mem_alloc_from_pool_async(&large, 6000, pool, stream) == Status::OutOfMemory);
  CHECK(gpu->mem_alloc_async(&large, 6000, stream) == Status::OutOfMemory);
  std::size_t free = 0, total = 0;
  require_success(gpu->mem_get_info(&free, &total));
  CHECK(free == 2048);
  require_success(gpu->mem_pool_trim_to(pool, 0));
  require_success(gpu->mem_alloc_from_pool_async(&large, 6000, pool, stream));
  require_success(gpu->mem_free_async(large, stream));
  require_success(gpu->stream_synchronize(stream));
  require_success(gpu->mem_pool_destroy(pool));
  CHECK(gpu->mem_pool_destroy(pool) == Status::InvalidValue);
  CHECK(gpu->mem_alloc_from_pool_async(&large, 100, pool, stream) == Status::InvalidValue);
  require_success(gpu->device_get_default_mem_pool(&pool, 0));
  CHECK(gpu->mem_pool_destroy(pool) == Status::InvalidValue);
}

TEST_CASE("fake driver: a reserved range grows in place") {
  const Gpu gpu(kFolder);
  const auto stream = make_stream(gpu);
  const AllocationProperties properties;
  const AccessDescription access;
  std::size_t chunk = 0;
  require_success(
      gpu->mem_get_allocation_granularity(&chunk, &properties, Granularity::Recommended));
  gpu.control.limit_memory(2 * chunk);
  DeviceAddress range = 0;
  AllocationHandle first = 0, second = 0, third = 0;
  require_success(gpu->mem_address_reserve(&range, 4 * chunk, 0, 0, 0));
  CHECK(gpu->mem_create(&first, chunk + 1, &properties, 0) == Status::InvalidValue);
  require_success(gpu->mem_create(&first, chunk, &properties, 0));
  require_success(gpu->mem_map(range, chunk, 0, first, 0));
  require_success(gpu->mem_set_access(range, chunk, &access, 1));
  const HostNumbers in(gpu, {1, 2}), out(gpu, 2);
  require_success(gpu->memset_8_async(range, 0, chunk, stream));
  require_success(gpu->stream_synchronize(stream));

  require_success(gpu->mem_create(&second, chunk, &properties, 0));
  CHECK(gpu->mem_create(&third, chunk, &properties, 0) == Status::OutOfMemory);
  CHECK(gpu->mem_map(range, chunk, 0, second, 0) == Status::InvalidValue);
  require_success(gpu->mem_map(range + chunk, chunk, 0, second, 0));
  require_success(gpu->mem_set_access(range + chunk, chunk, &access, 1));
  require_success(download(gpu, out, range + chunk - 4, stream));
  require_success(upload(gpu, range + chunk - 4, in, stream));
  require_success(gpu->stream_synchronize(stream));
  CHECK(out.all() == std::vector<int>{0, kPoisoned});

  // Physical memory lives until its handle and its mappings are gone.
  require_success(gpu->mem_release(first));
  require_success(gpu->mem_release(second));
  CHECK(gpu->mem_release(second) == Status::InvalidValue);
  require_success(download(gpu, out, range + chunk - 4, stream));
  require_success(gpu->stream_synchronize(stream));
  CHECK(out.all() == std::vector<int>{1, 2});
  CHECK(gpu.control.usage().allocations == 2);
  CHECK(gpu->mem_address_free(range, 4 * chunk) == Status::InvalidValue);
  CHECK(gpu->mem_unmap(range, chunk / 2) == Status::InvalidValue);
  require_success(gpu->mem_unmap(range, 2 * chunk));
  CHECK(gpu.control.usage().allocations == 0);
  require_success(gpu->mem_address_free(range, 4 * chunk));
}

TEST_CASE("fake driver: mapped memory without access cannot be touched") {
  const Gpu gpu(kFolder);
  const auto stream = make_stream(gpu);
  const AllocationProperties properties;
  constexpr std::size_t kChunk = std::size_t{2} << 20;
  DeviceAddress range = 0;
  AllocationHandle memory = 0;
  require_success(gpu->mem_address_reserve(&range, kChunk, 0, 0, 0));
  require_success(gpu->mem_create(&memory, kChunk, &properties, 0));
  require_success(gpu->mem_map(range, kChunk, 0, memory, 0));
  require_success(gpu->memset_8_async(range, 0, 1, stream));
  CHECK(gpu->stream_synchronize(stream) == Status::IllegalAddress);
  gpu.control.reset();
  require_success(gpu->mem_unmap(range, kChunk));
  require_success(gpu->mem_release(memory));
  require_success(gpu->mem_address_free(range, kChunk));
}
