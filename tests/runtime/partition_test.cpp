// Tests partitioned functions while other threads change their variables.
#include "tests/support/catch.h"

#include <kiln/k.h>

#include <atomic>
#include <thread>

using namespace kiln;

TEST_CASE("partitioned function: all partitions read one state of the variables", "[concurrency]") {
  const Variable n = variable(3, {.dtype = "int32"}), w = variable(3, {.dtype = "int32"});
  const Tensor x = placeholder({.shape = {}, .dtype = "int32"});
  const Function both = function({x}, {}, {.updates = {update(n, x), update(w, x + 0)}});
  // The first partition reads n, the last one w.
  const Function f = function({}, {arange(n), w});
  std::atomic<bool> stop{false};
  std::atomic<int> written{0};
  std::thread writer([&] {
    for (; !stop; ++written) both({Array(written % 9)});
  });
  while (written == 0) std::this_thread::yield();
  int torn = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::vector<Array> results = f(std::vector<Array>{});
    torn += results[0].size() != results[1].item<std::int32_t>();
  }
  stop = true;
  writer.join();
  CHECK(torn == 0);
}

TEST_CASE("partitioned function: concurrent updates are never lost", "[concurrency]") {
  constexpr int kThreads = 4, kCalls = 500;
  const Variable n = variable(0, {.dtype = "int32"});
  // The new value has a size that is data, so that it is known only in the last partition.
  const Tensor next = sum(ones({n + 1}, {.dtype = "int32"}));
  const Function f = function({}, {next}, {.updates = {update(n, next)}});
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      for (int i = 0; i < kCalls; ++i) f(std::vector<Array>{});
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(get_value(n).item<std::int32_t>() == kThreads * kCalls);
}
