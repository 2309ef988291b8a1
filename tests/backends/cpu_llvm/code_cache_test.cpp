// Tests the code cache: concurrent callers compile a key once, the bound holds, failures keep none.
#include "tests/support/catch.h"
#include "tests/support/child.h"

#include "backends/cpu/llvm/code/code_cache.h"

#include <atomic>
#include <latch>
#include <stdexcept>
#include <thread>

using kiln::cpu::CodeCache;
using kiln::cpu::KernelCode;
using kiln::cpu::KernelCodePtr;

namespace {

using Keys = std::vector<std::string>;
using Numbers = std::vector<std::size_t>;

KernelCodePtr code_of(std::size_t bytes) {
  return std::make_shared<KernelCode>(KernelCode{nullptr, nullptr, bytes});
}

/// Compiles code of 100 bytes for each key, and counts the keys in `compiled`.
CodeCache::Compile counting(std::atomic<std::size_t>& compiled) {
  return [&compiled](const Numbers& numbers) {
    compiled += numbers.size();
    std::vector<KernelCodePtr> codes;
    for (std::size_t i = 0; i < numbers.size(); ++i) codes.push_back(code_of(100));
    return codes;
  };
}

}  // namespace

TEST_CASE("code cache: the code of a key is compiled once and shared") {
  CodeCache cache(1000);
  std::atomic<std::size_t> compiled{0};
  const auto first = cache.get({"a", "b"}, counting(compiled));
  const auto second = cache.get({"c", "a"}, counting(compiled));
  CHECK(compiled == 3);
  CHECK(second[1] == first[0]);
  CHECK(second[0] != first[1]);
  CHECK(cache.stats().compiled == 3);
  CHECK(cache.stats().shared == 1);
  CHECK(cache.stats().bytes == 303);  // 3 x 100 bytes of code, 3 keys of one byte
}

TEST_CASE("code cache: beyond the bound unused code is evicted, the oldest first") {
  CodeCache cache(250);
  std::atomic<std::size_t> compiled{0};
  const auto used = cache.get({"used"}, counting(compiled));
  cache.get({"old"}, counting(compiled));
  cache.get({"new"}, counting(compiled));
  CHECK(cache.stats().entries == 2);
  cache.get({"new"}, counting(compiled));
  CHECK(compiled == 3);
  cache.get({"old"}, counting(compiled));
  CHECK(compiled == 4);
  CHECK(cache.get({"used"}, counting(compiled))[0] == used[0]);
  CHECK(compiled == 4);
}

TEST_CASE("code cache: code in use stays beyond the bound") {
  CodeCache cache(150);
  std::atomic<std::size_t> compiled{0};
  auto held = cache.get({"a", "b", "c"}, counting(compiled));
  CHECK(cache.stats().bytes == 303);
  const std::weak_ptr<const KernelCode> first = held[0];
  held.clear();
  CHECK_FALSE(first.expired());
  cache.get({"d"}, counting(compiled));
  CHECK(first.expired());
  CHECK(cache.stats().bytes == 101);
}

TEST_CASE("code cache: a failure leaves no entry, and the next caller compiles") {
  CodeCache cache(1000);
  std::atomic<std::size_t> compiled{0};
  const auto fail = [](const Numbers&) -> std::vector<KernelCodePtr> {
    throw std::runtime_error("no code");
  };
  const auto kept = cache.get({"a"}, counting(compiled));
  CHECK_THROWS_AS(cache.get({"a", "b"}, fail), std::runtime_error);
  CHECK(cache.stats().entries == 1);
  CHECK(cache.get({"b", "a"}, counting(compiled))[1] == kept[0]);
  CHECK(compiled == 2);
}

TEST_CASE("code cache: concurrent callers compile each key once", "[concurrency]") {
  constexpr std::size_t kThreads = 8, kKeys = 40;
  CodeCache cache(1 << 20);
  std::atomic<std::size_t> compiled{0};
  std::vector<std::vector<KernelCodePtr>> found(kThreads);
  std::latch start(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Keys keys;  // each thread in an order of its own
      for (std::size_t i = 0; i < kKeys; ++i) keys.push_back(std::to_string((i + 5 * t) % kKeys));
      start.arrive_and_wait();
      for (std::size_t half = 0; half < 2; ++half) {
        const auto begin = keys.begin() + static_cast<std::ptrdiff_t>(half * kKeys / 2);
        const Keys some(begin, begin + kKeys / 2);
        for (auto& code : cache.get(some, counting(compiled))) found[t].push_back(code);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(compiled == kKeys);
  std::size_t same = 0;
  for (std::size_t t = 0; t < kThreads; ++t) {
    for (std::size_t i = 0; i < kKeys; ++i) {
      same += found[t][i] == found[0][(i + 5 * t) % kKeys];
    }
  }
  CHECK(same == kThreads * kKeys);
}

TEST_CASE("code cache: a caller compiles what another one failed to compile", "[concurrency]") {
  CodeCache cache(1000);
  std::atomic<std::size_t> compiled{0};
  std::latch begun(1);
  std::atomic<bool> failed{false};
  std::thread other([&] {
    try {
      cache.get({"a"}, [&](const Numbers&) -> std::vector<KernelCodePtr> {
        begun.count_down();
        throw std::runtime_error("no code");
      });
    } catch (const std::runtime_error&) {
      failed = true;
    }
  });
  begun.wait();
  CHECK(cache.get({"a"}, counting(compiled))[0] != nullptr);
  other.join();
  CHECK(failed);
  CHECK(compiled == 1);
}

TEST_CASE("code cache: a forked child has its parent's code, and compiles what a thread began") {
  std::atomic<std::size_t> compiled{0};
  CodeCache& cache = CodeCache::instance();
  cache.get({"there"}, counting(compiled));
  std::latch begun(1), end(1);
  std::thread other([&] {
    cache.get({"begun"}, [&](const Numbers& numbers) {
      begun.count_down();
      end.wait();
      return counting(compiled)(numbers);
    });
  });
  begun.wait();
  CHECK(kiln::testing::in_child([&] {
          cache.get({"there", "begun"}, counting(compiled));
          return static_cast<int>(compiled);
        }) == 2);
  end.count_down();
  other.join();
  CHECK(compiled == 2);
}
