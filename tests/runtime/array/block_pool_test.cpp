// Tests the pool of large blocks, with a clock of the test: which block acquire() returns, which
// blocks are kept and for how long, memory exhaustion, threads, fork.
#include "tests/support/catch.h"
#include "tests/support/child.h"

#include "runtime/array/block_pool.h"

#include <kiln/array.h>
#include <kiln/memory.h>

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

using namespace kiln;
using runtime::BlockPool;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20, kNoLimit = SIZE_MAX;

std::atomic<std::int64_t> now{0};
std::int64_t test_clock() noexcept { return now; }

std::byte* elements(void* block) { return static_cast<std::byte*>(block) + BlockPool::kHeader; }

/// Acquires a block and recycles it.
void* pass(BlockPool& pool, std::size_t bytes) {
  void* block = pool.acquire(bytes);
  REQUIRE(block != nullptr);
  pool.recycle(block, bytes);
  return block;
}

/// Bytes of address space, and those of them that are resident.
std::pair<std::size_t, std::size_t> process_memory() {
  std::size_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return {pages * page, resident * page};
}

}  // namespace

TEST_CASE("block pool: acquire returns the youngest idle block of its size, unchanged") {
  BlockPool pool(test_clock, kNoLimit);
  for (const std::size_t bytes : {BlockPool::kMinBytes, std::size_t{100'001}, 3 * kMiB, 9 * kMiB}) {
    void* block = pool.acquire(bytes);
    void* other = pool.acquire(bytes);
    std::memset(elements(block), 0x5a, bytes);
    pool.recycle(other, bytes);
    pool.recycle(block, bytes);
    CHECK(pool.acquire(bytes + bytes / 2) != block);
    CHECK(pool.acquire(bytes) == block);
    for (std::size_t i = 0; i < bytes; i += 501) REQUIRE(elements(block)[i] == std::byte{0x5a});
    CHECK(pool.acquire(bytes) == other);
  }
  CHECK(pool.counts().idle == 0);
  CHECK(pool.counts().reused == 8);
  CHECK(pool.counts().fresh == 12);
}

TEST_CASE("block pool: blocks are aligned, writable, and at most an eighth too large") {
  BlockPool pool(test_clock, kNoLimit);
  std::size_t before = 0;
  for (std::size_t bytes = 1; bytes < 40 * kMiB; bytes += bytes / 3 + 1) {
    auto* block = static_cast<std::byte*>(pool.acquire(bytes));
    REQUIRE(block != nullptr);
    const std::size_t size = pool.counts().used - before;
    CHECK(size >= bytes);
    CHECK((size == BlockPool::kMinBytes || size - bytes <= bytes / 8 + 1));
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    CHECK(address % 64 == 0);
    if (size >= 4 * kMiB && !runtime::has_address_sanitizer()) CHECK(address % (2 * kMiB) < 4096);
    elements(block)[0] = elements(block)[size - 1] = std::byte{1};
    before = pool.counts().used;
  }
}

TEST_CASE("block pool: blocks of one size begin at different offsets in their pages") {
  BlockPool pool(test_clock, kNoLimit);
  for (const std::size_t bytes : {BlockPool::kMinBytes, kMiB, 9 * kMiB}) {
    std::set<std::uintptr_t> offsets;
    std::vector<void*> blocks;
    for (int i = 0; i < 8; ++i) {
      blocks.push_back(pool.acquire(bytes));
      offsets.insert(reinterpret_cast<std::uintptr_t>(blocks.back()) % 4096);
    }
    CHECK(offsets.size() == (runtime::has_address_sanitizer() ? 1 : 8));
    for (void* block : blocks) pool.recycle(block, bytes);
  }
}

TEST_CASE("block pool: idle blocks beyond the limit are freed, the oldest first") {
  BlockPool pool(test_clock, 3 * kMiB);
  std::vector<void*> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(pool.acquire(kMiB));
  for (void* block : blocks) pool.recycle(block, kMiB), ++now;
  CHECK(pool.counts().idle == 3 * kMiB);
  CHECK(pool.counts().used == 0);
  pass(pool, 2 * kMiB);  // in place of the two oldest
  CHECK(pool.counts().idle == 3 * kMiB);
  CHECK(pool.acquire(kMiB) == blocks[3]);
  CHECK(pool.counts().idle == 2 * kMiB);
  pass(pool, 8 * kMiB);  // larger than all that is kept
  CHECK(pool.counts().idle == 0);
  pass(pool, 2 * kMiB);
  pool.set_limit(kMiB);
  CHECK(pool.counts().idle == 0);
  pool.set_limit(0);
  pass(pool, kMiB);
  CHECK(pool.counts().idle == 0);
}

TEST_CASE("block pool: blocks that are idle for long are freed") {
  BlockPool pool(test_clock, kNoLimit);
  now = 0;
  void* old = pool.acquire(kMiB);
  void* young = pool.acquire(kMiB);
  pool.recycle(old, kMiB);
  now = BlockPool::kMaxIdle / 2;
  pool.recycle(young, kMiB);
  now = BlockPool::kMaxIdle;
  pool.release_old();
  CHECK(pool.counts().idle == 2 * kMiB);
  now = BlockPool::kMaxIdle + 1;
  pool.release_old();
  CHECK(pool.counts().idle == kMiB);
  CHECK(pool.acquire(kMiB) == young);
  pool.recycle(young, kMiB);  // its time begins again
  now = 2 * BlockPool::kMaxIdle + 1;
  pool.release_old();
  CHECK(pool.counts().idle == kMiB);
  ++now;
  pass(pool, 3 * kMiB);
  CHECK(pool.counts().idle == 3 * kMiB);
}

TEST_CASE("block pool: idle memory is released on request") {
  BlockPool pool(test_clock, kNoLimit);
  CHECK(pool.release_idle() == 0);
  pass(pool, kMiB);
  pass(pool, 16 * kMiB);
  CHECK(pool.counts().idle == 17 * kMiB);
  CHECK(pool.release_idle() == 17 * kMiB);
  CHECK(pool.counts().idle == 0);
  CHECK(pool.release_idle() == 0);
}

TEST_CASE("block pool: an impossible size gives null and is not counted") {
  BlockPool pool(test_clock, kNoLimit);
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 4, std::size_t{1} << 60}) {
    CHECK(pool.acquire(bytes) == nullptr);
  }
  CHECK(pool.counts().used == 0);
  CHECK(pool.counts().fresh == 0);
}

TEST_CASE("block pool: idle blocks are freed and the request repeated when memory runs out") {
  if (runtime::has_address_sanitizer()) return;  // it holds the address space itself
  CHECK(kiln::testing::in_child([] {
          BlockPool pool(test_clock, kNoLimit);
          void* idle = pool.acquire(256 * kMiB);
          if (idle == nullptr) return 1;
          pool.recycle(idle, 256 * kMiB);
          const rlimit limit{process_memory().first + 32 * kMiB, RLIM_INFINITY};
          if (::setrlimit(RLIMIT_AS, &limit) != 0) return 2;
          if (pool.acquire(200 * kMiB) == nullptr) return 3;
          if (pool.counts().idle != 0) return 4;
          return pool.acquire(200 * kMiB) == nullptr ? 0 : 5;
        }) == 0);
}

TEST_CASE("release_idle_memory: the pages of blocks below 4 MiB return to the system") {
  if (runtime::has_address_sanitizer()) return;  // it has no malloc_trim
  CHECK(kiln::testing::in_child([] {
          release_idle_memory();
          const std::size_t before = process_memory().second;
          std::vector<Array> large, small;
          for (int i = 0; i < 1600; ++i) {
            large.push_back(Array::full({16384}, 1));
            small.push_back(Array::full({64}, 1));  // keeps the heap from shrinking at its end
          }
          if (process_memory().second < before + 64 * kMiB) return 1;
          large.clear();
          release_idle_memory();
          return process_memory().second < before + 32 * kMiB ? 0 : 2;
        }) == 0);
}

TEST_CASE("block pool: only fresh pages are known to be zeroed") {
  BlockPool pool(test_clock, kNoLimit);
  bool is_zeroed = false;
  void* fresh = pool.acquire(16 * kMiB, &is_zeroed);
  CHECK(is_zeroed == !runtime::has_address_sanitizer());
  std::memset(elements(fresh), 1, 16 * kMiB);
  pool.recycle(fresh, 16 * kMiB);
  CHECK(pool.acquire(16 * kMiB, &is_zeroed) == fresh);
  CHECK_FALSE(is_zeroed);
  void* small = pool.acquire(BlockPool::kMinBytes, &is_zeroed);
  CHECK_FALSE(is_zeroed);
  pool.recycle(small, BlockPool::kMinBytes);
  pool.recycle(fresh, 16 * kMiB);
  pool.release_idle();
}

TEST_CASE("array: zeros are 0 in recycled memory") {
  for (const std::int64_t size : {std::int64_t{7}, std::int64_t{1} << 15, std::int64_t{1} << 22}) {
    for (int i = 0; i < 3; ++i) {
      const Array ones = Array::full({size}, 1);
      CHECK(ones.at<float>(size - 1) == 1);
    }
    for (const Array& zeros : {Array::zeros({size}), Array::full({size}, 0)}) {
      CHECK(zeros.at<float>(0) == 0);
      CHECK(zeros.at<float>(size - 1) == 0);
    }
    const Array negative = Array::full({size}, -0.0);
    CHECK(std::signbit(negative.at<float>(size - 1)));
  }
}

TEST_CASE("block pool: threads acquire and recycle concurrently", "[concurrency]") {
  BlockPool pool(test_clock, 4 * kMiB);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const auto mark = static_cast<std::byte>(t);
      for (std::size_t i = 0; i < 300; ++i) {
        const std::size_t bytes = BlockPool::kMinBytes << (i + static_cast<std::size_t>(t)) % 5;
        std::byte* data = elements(pool.acquire(bytes));
        for (std::size_t at = 0; at < bytes; at += 4096) data[at] = mark;
        if (i % 50 == 0) pool.release_idle();
        if (i % 7 == 0) pool.release_old();
        for (std::size_t at = 0; at < bytes; at += 4096) wrong += data[at] != mark;
        pool.recycle(data - BlockPool::kHeader, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(pool.counts().used == 0);
  CHECK(pool.counts().idle <= 4 * kMiB);
  CHECK(pool.counts().fresh + pool.counts().reused == 1200);
}

TEST_CASE("block pool: a child forked while another thread allocates can make large Arrays") {
  if (runtime::has_address_sanitizer()) {
    // Its allocator takes no locks at fork(), so that the child of GCC 12's may deadlock in it.
    WARN("left out: AddressSanitizer's allocator is not fork-safe");
    return;
  }
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over) static_cast<void>(Array::zeros({1 << 15}));
  });
  int failed = 0;
  for (int i = 0; i < 50; ++i) {
    failed +=
        kiln::testing::in_child([] {
          const Array one = Array::full({1 << 15}, 1);
          return one.at<float>(12345) == 1 && Array::zeros({1 << 15}).at<float>(7) == 0 ? 0 : 1;
        }) != 0;
  }
  over = true;
  other.join();
  CHECK(failed == 0);
}
