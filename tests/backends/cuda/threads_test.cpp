// Tests several threads on one device: the same functions with different sizes, one variable,
// concurrent compilation.
#include "tests/support/catch.h"
#include "tests/backends/cuda/fake_device.h"
#include "tests/backends/cuda/training_step.h"
#include "test_folders.h"

#include <array>
#include <atomic>
#include <functional>
#include <thread>

using namespace kiln;
using cuda_test::TrainingStep;

namespace {

constexpr int kThreads = 4, kRounds = 25;

void in_threads(const std::function<void(int thread)>& action) {
  cuda_test::fake_device(KILN_BINARY_DIR).reset();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(action, t);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("threads: one function with different sizes", "[concurrency]") {
  cuda_test::fake_device(KILN_BINARY_DIR);
  const Tensor x = placeholder({.shape = {None, 3}, .name = "x"});
  const Function f = function({x}, {sum(x * 2.0), x + 1.0}, {.backend = "cuda"});
  std::atomic<int> wrong{0};
  in_threads([&](int t) {
    for (int i = 0; i < kRounds; ++i) {
      const std::int64_t rows = 1 + (t + i) % 5;
      const std::vector<Array> y = f({Array::full({rows, 3}, t)});
      wrong += y[0].item<float>() != static_cast<float>(6 * rows * t);
      wrong += y[1] != Array::full({rows, 3}, t + 1);
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("threads: updates of one variable", "[concurrency]") {
  cuda_test::fake_device(KILN_BINARY_DIR);
  const Variable w = variable(Array::zeros({50}), {.name = "w"});
  const Function add = function({}, {}, {.updates = {update_add(w, 1.0)}, .backend = "cuda"});
  const Function read = function({}, {max(w) - min(w)}, {.backend = "cuda"});
  std::atomic<int> torn{0};
  in_threads([&](int t) {
    for (int i = 0; i < kRounds; ++i) {
      add();
      if (t % 2 == 0) torn += read()[0].item<float>() != 0;
      const Array seen = get_value(w);
      for (const float element : seen.as<float>()) torn += element != seen.as<float>()[0];
    }
  });
  CHECK(torn == 0);
  CHECK(get_value(w) == Array::full({50}, kThreads * kRounds));
}

TEST_CASE("threads: compiling, calling and dropping concurrently", "[concurrency]") {
  const auto& control = cuda_test::fake_device(KILN_BINARY_DIR);
  {
    TrainingStep("cuda").step({TrainingStep::fed(2)});
  }
  const FakeCudaUsage before = control.usage();
  std::atomic<int> wrong{0};
  in_threads([&](int t) {
    for (int i = 0; i < 4; ++i) {
      TrainingStep s("cuda");
      s.step({s.fed(t + 1)});
      s.step({s.fed(i + 1)});
      wrong += s.look()[0] != get_value(s.w);
    }
  });
  CHECK(wrong == 0);
  // Each stream that was in use at a time keeps its arena.
  CHECK(control.usage().allocations < before.allocations + kThreads);
  CHECK(control.usage().libraries == before.libraries);
}
