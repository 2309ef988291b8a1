// Tests the process-wide pool: every index once, from many threads, nested, resized and after fork.
#include "tests/support/catch.h"

#include "runtime/host/thread_pool.h"
#include "tests/support/child.h"
#include "tests/runtime/plugin/fakes.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <numeric>
#include <thread>
#include <vector>

using namespace kiln;
using namespace kiln::runtime;
using kiln::testing::in_child, kiln::testing::in_new_process;

namespace {

struct Marks {
  explicit Marks(std::size_t n) : seen(n) {}
  std::vector<std::atomic<int>> seen;
  bool all_once() const {
    for (const auto& count : seen) {
      if (count != 1) return false;
    }
    return true;
  }
};

std::uint32_t mark(void* context, std::uint64_t begin, std::uint64_t end) {
  auto& marks = *static_cast<Marks*>(context);
  for (std::uint64_t i = begin; i < end; ++i) ++marks.seen[i];
  return 0;
}

/// Takes a tenth of a millisecond for each index.
std::uint32_t busy_wait(void*, std::uint64_t begin, std::uint64_t end) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point last = Clock::now() + std::chrono::microseconds(100 * (end - begin));
  while (Clock::now() < last) {
  }
  return 0;
}

}  // namespace

TEST_CASE("thread pool: a loop covers every index once", "[plugin][concurrency]") {
  for (const int threads : {1, 2, 4, 40}) {
    set_thread_count(threads);
    for (const std::size_t n : {1, 2, 3, 7, 1000}) {
      Marks marks(n);
      CHECK(parallel_for(n, mark, &marks) == 0);
      CHECK(marks.all_once());
    }
  }
  CHECK(parallel_for(0, mark, nullptr) == 0);
}

TEST_CASE("thread pool: loops of several threads run concurrently, also during a resize",
          "[plugin][concurrency]") {
  set_thread_count(4);
  std::atomic<int> wrong{0};
  std::vector<std::thread> users;
  for (int t = 0; t < 4; ++t) {
    users.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        Marks marks(100);
        if (parallel_for(100, mark, &marks) != 0 || !marks.all_once()) ++wrong;
      }
    });
  }
  for (int round = 0; round < 10; ++round) set_thread_count(1 + round % 4);
  for (std::thread& user : users) user.join();
  CHECK(wrong == 0);
}

TEST_CASE("thread pool: nested loops run inline", "[plugin][concurrency]") {
  set_thread_count(4);
  struct Outer {
    std::atomic<int> wrong{0};
  } outer;
  const auto body = [](void* context, std::uint64_t begin, std::uint64_t end) -> std::uint32_t {
    auto& state = *static_cast<Outer*>(context);
    for (std::uint64_t i = begin; i < end; ++i) {
      auto self = std::this_thread::get_id();
      const auto inner = [](void* id, std::uint64_t, std::uint64_t) -> std::uint32_t {
        return *static_cast<std::thread::id*>(id) == std::this_thread::get_id() ? 0 : 1;
      };
      if (parallel_for(100, inner, &self) != 0) ++state.wrong;
    }
    return 0;
  };
  CHECK(parallel_for(64, body, &outer) == 0);
  CHECK(outer.wrong == 0);
}

TEST_CASE("thread pool: the first code other than ok ends the loop", "[plugin][concurrency]") {
  set_thread_count(2);
  const auto body = [](void*, std::uint64_t begin, std::uint64_t) -> std::uint32_t {
    return begin == 0 ? 9 : 0;
  };
  CHECK(parallel_for(1000, body, nullptr) == 9);
}

TEST_CASE("thread pool: a forked child gets an error instead of a hang", "[plugin]") {
  set_thread_count(2);
  Marks marks(100);
  REQUIRE(parallel_for(100, mark, &marks) == 0);
  const InstancePtr instance = adder();
  const Executable program = compile_text(instance, "inputs 1\noutputs 1\n");
  CHECK(in_child([&] {
          const std::string got = error_text<BackendError>([&] { parallel_for(10, mark, &marks); });
          return got == text("the thread pool was started in process ", ::getppid(),
                             " and does not exist in its forked child ", ::getpid(),
                             "; start a new program instead of forking")
                     ? 0
                     : 1;
        }) == 0);
  CHECK(in_child([&] {
          const std::string got = error_text<BackendError>([&] { program.execute({}); });
          return got == text("backend adder was initialised in process ", ::getppid(),
                             " before it forked and cannot be used in its child ", ::getpid(),
                             "; start a new program instead of forking")
                     ? 0
                     : 1;
        }) == 0);
}

TEST_CASE("thread pool: the number of threads changes between loops without a pause",
          "[plugin][concurrency]") {
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      while (!stop) wrong += parallel_for(32, busy_wait, nullptr) != 0;
    });
  }
  std::future<void> changes = std::async(std::launch::async, [] {
    for (int i = 0; i < 20; ++i) set_thread_count(2 + i % 5);
  });
  const bool done = changes.wait_for(std::chrono::seconds(30)) == std::future_status::ready;
  stop = true;
  for (std::thread& caller : callers) caller.join();
  CHECK(done);
  CHECK(wrong == 0);
  changes.get();
  set_thread_count(2);
}

TEST_CASE("thread pool: KILN_THREADS is read at first need and checked", "[plugin]") {
  // In child processes, since a process reads it once. 3: a ConfigError with the right text.
  const auto with = [](const char* value) {
    return in_new_process("[.threads_child]", "KILN_THREADS", value);
  };
  CHECK(with("5") == 0);
  for (const char* wrong : {"0", "4097", "two", "3x", "-1", "99999999999999999999"}) {
    INFO(wrong);
    CHECK(with(wrong) == 0);
  }
}

TEST_CASE("child: KILN_THREADS sets the thread count or is an error", "[.threads_child]") {
  const std::string given = std::getenv("KILN_THREADS");
  if (given == "5") {
    CHECK(thread_count() == 5);
    return;
  }
  CHECK(error_text<ConfigError>([] { thread_count(); }) ==
        text("KILN_THREADS is '", given, "' but must be a number from 1 to 4096"));
}
