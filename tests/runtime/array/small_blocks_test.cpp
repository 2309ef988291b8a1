// Tests the cache of small blocks: reused, bounded, counted, released; Arrays that other threads
// destroy; the ends of threads; fork. With AddressSanitizer no block is cached.
#include "tests/support/catch.h"
#include "tests/support/child.h"

#include "runtime/array/block_pool.h"
#include "runtime/array/small_blocks.h"

#include <kiln/k.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

using namespace kiln;
using runtime::SmallBlocks;

namespace {

constexpr std::int64_t kBlock = SmallBlocks::kHeader + 64;  // of 16 floats

std::int64_t idle_bytes() { return static_cast<std::int64_t>(SmallBlocks::idle_bytes()); }
/// Bytes that are expected to be cached.
std::int64_t cached(std::int64_t bytes) { return runtime::has_address_sanitizer() ? 0 : bytes; }

void destroy_together(int count, std::int64_t size) {
  std::vector<Array> arrays;
  for (int i = 0; i < count; ++i) arrays.push_back(Array::full({size}, i));
  for (int i = 0; i < count; ++i) {
    const std::span<const float> values = std::as_const(arrays[i]).as<float>();
    REQUIRE(std::all_of(values.begin(), values.end(), [&](float value) { return value == i; }));
  }
}

}  // namespace

TEST_CASE("small blocks: reused, counted and released") {
  release_idle_memory();
  const std::int64_t before = idle_bytes();
  const auto address_of = [](const Array& array) { return array.data(); };
  const void* first = address_of(Array::zeros({16}));
  CHECK(idle_bytes() == before + cached(kBlock));
  if (!runtime::has_address_sanitizer()) {
    CHECK(address_of(Array::full({3}, 1)) == first);
  }
  CHECK(Array::zeros({3}) == Array(std::vector<float>(3)));  // not the elements before
  const Tensor x = placeholder({.shape = {16}});
  CHECK(function({x}, {x}).stats().arrays.small_idle_bytes == idle_bytes());
  release_idle_memory();
  CHECK(idle_bytes() == before);
}

TEST_CASE("small blocks: a thread keeps a bounded number of each size") {
  release_idle_memory();
  const std::int64_t before = idle_bytes();
  destroy_together(100, 16);
  CHECK(idle_bytes() == before + cached(8 * kBlock));
  destroy_together(100, 129);  // beyond the largest size class
  CHECK(idle_bytes() == before + cached(8 * kBlock));
  for (const int size : {0, 1, 17, 33, 49, 65, 81, 97, 113, 128}) destroy_together(100, size);
  CHECK(idle_bytes() <= before + 24 * 1024);
  release_idle_memory();
  CHECK(idle_bytes() == before);
}

TEST_CASE("small blocks: none is kept with a limit of 0") {
  destroy_together(2, 16);
  set_idle_memory_limit(0);
  CHECK(idle_bytes() == 0);
  destroy_together(2, 16);
  CHECK(idle_bytes() == 0);
  set_idle_memory_limit(1);
  destroy_together(2, 16);
  CHECK(idle_bytes() == cached(2 * kBlock));
  set_idle_memory_limit(std::int64_t{1} << 30);
}

TEST_CASE("small blocks: another thread frees its own after a release") {
  release_idle_memory();
  const std::int64_t before = idle_bytes();
  std::atomic<int> step{0};
  std::thread other([&] {
    destroy_together(2, 16);
    step = 1;
    step.notify_one();
    step.wait(1);
    destroy_together(1, 32);
  });
  step.wait(0);
  CHECK(idle_bytes() == before + cached(2 * kBlock));
  release_idle_memory();
  CHECK(idle_bytes() == before + cached(2 * kBlock));
  step = 2;
  step.notify_one();
  other.join();
  CHECK(idle_bytes() == before);
}

TEST_CASE("small blocks: Arrays that another thread destroys", "[concurrency]") {
  release_idle_memory();
  const std::int64_t before = idle_bytes();
  for (int round = 0; round < 20; ++round) {
    std::vector<Array> arrays;
    for (int i = 0; i < 30; ++i) arrays.push_back(Array::full({16}, i));
    std::vector<Array> shared = arrays;
    std::thread other([taken = std::move(arrays)]() mutable {
      taken.clear();
      destroy_together(20, 16);
      release_idle_memory();
      destroy_together(20, 16);
    });
    for (int i = 0; i < 30; ++i) CHECK(shared[i] == Array::full({16}, i));
    shared.clear();
    other.join();
  }
  release_idle_memory();
  CHECK(idle_bytes() == before);
}

TEST_CASE("small blocks: a thread that only destroys Arrays keeps none") {
  release_idle_memory();
  const std::int64_t before = idle_bytes();
  std::int64_t after = -1;
  std::thread([&after, given = Array::zeros({16})]() mutable {
    {
      const Array destroyed = std::move(given);
    }
    after = idle_bytes();
  }).join();
  CHECK(after == before);
}

TEST_CASE("small blocks: Arrays that are destroyed while their thread exits") {
  release_idle_memory();
  const std::int64_t before = idle_bytes();
  pthread_key_t later;  // its destructor is called after that of the cache, whose key is older
  const auto destroy = [](void* array) { delete static_cast<Array*>(array); };
  REQUIRE(::pthread_key_create(&later, destroy) == 0);
  std::thread([&] {
    static thread_local std::vector<Array> kept;
    kept.push_back(Array::zeros({16}));
    destroy_together(3, 16);
    kept.push_back(Array::zeros({16}));
    REQUIRE(::pthread_setspecific(later, new Array(Array::zeros({16}))) == 0);
  }).join();
  ::pthread_key_delete(later);
  CHECK(idle_bytes() == before);
}

namespace {

pthread_key_t last_round;
thread_local int rounds_before = 3;  // glibc calls the destructors of keys in four rounds

/// Sets its key again in the first rounds, so that it destroys an Array in the last one.
void destroy_in_last_round(void* value) {
  if (rounds_before-- > 0) {
    ::pthread_setspecific(last_round, value);
  } else {
    destroy_together(1, 16);
  }
}

}  // namespace

TEST_CASE("small blocks: the first Array of a thread is destroyed in its last round of keys") {
  REQUIRE(::pthread_key_create(&last_round, destroy_in_last_round) == 0);
  release_idle_memory();
  const std::int64_t before = idle_bytes();
  for (int i = 0; i < 4; ++i) {
    std::thread([] { ::pthread_setspecific(last_round, &last_round); }).join();
    CHECK(idle_bytes() <= before + 4 * kBlock);
  }
  ::pthread_key_delete(last_round);
  CHECK(kiln::testing::in_child([] { return idle_bytes() == 0 ? 0 : 1; }) == 0);
}

TEST_CASE("small blocks: a child process has those of its only thread") {
  release_idle_memory();
  std::atomic<int> step{0};
  std::thread other([&] {
    destroy_together(5, 16);
    step = 1;
    step.notify_one();
    step.wait(1);
  });
  step.wait(0);
  destroy_together(2, 16);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool has_own = idle_bytes() == cached(2 * kBlock);
    destroy_together(100, 16);
    const bool grows = idle_bytes() == cached(8 * kBlock);
    release_idle_memory();
    ::_exit(has_own && grows && idle_bytes() == 0 ? 0 : 1);
  }
  int status = 1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  step = 2;
  step.notify_one();
  other.join();
}
