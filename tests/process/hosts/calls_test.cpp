// Tests calls from threads of every kind: eight at once into the same and into different functions,
// from a small stack, from a child process.
#include "tests/support/catch.h"
#include "tests/support/deep.h"
#include "tests/support/child.h"
#include "tests/support/error_text.h"
#include "tests/process/hosts/sample.h"

#include <pthread.h>

#include <atomic>
#include <functional>
#include <thread>

using namespace kiln;
using hosts_test::Sample;

namespace {

/// Runs `action` on eight threads at once; returns how many of them returned false or threw.
int failures_of_eight(const std::function<bool(int)>& action) {
  std::atomic<int> waiting{8}, failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      try {
        failed += !action(t);
      } catch (const std::exception&) {
        ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return failed;
}

void* run_function(void* function) {
  (*static_cast<const std::function<void()>*>(function))();
  return nullptr;
}

/// Runs `action` on a thread with a stack of 256 KiB.
void on_small_stack(const std::function<void()>& action) {
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, kiln::test::kSmallStack) == 0);
  pthread_t thread;
  void* argument = const_cast<std::function<void()>*>(&action);
  REQUIRE(pthread_create(&thread, &attributes, run_function, argument) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

/// Sixty different elementwise functions in one kernel, with its gradient.
Tensor long_chain(const Tensor& x) {
  Tensor y = x;
  for (int i = 0; i < 15; ++i) {
    y = tanh(y) + sigmoid(y * (0.5 + i));
    y = exp(y * -0.25) * sin(y + 0.1 * i) + log(1.5 + abs(y));
  }
  return y;
}

}  // namespace

TEST_CASE("threads: eight call one function that updates its weight", "[concurrency]") {
  const Sample sample("cpu", 1.0 / 8);
  const Function read = function({}, {sum(sample.w)}, {.backend = "cpu"});
  CHECK(failures_of_eight([&](int t) {
          for (int i = 0; i < 10; ++i) {
            const std::int64_t rows = 1 + (t + i) % 3;
            const Array y = sample.f({Array::full({rows, 6, 8}, 1)})[0];
            for (const float value : y.as<float>()) {
              if (value != y.as<float>()[0]) return false;
            }
            if (read({})[0].item<float>() < 0) return false;
          }
          return true;
        }) == 0);
  CHECK(get_value(sample.w).as<float>()[0] == std::ldexp(1.0f, -3 - 80));
}

TEST_CASE("threads: eight build, compile and call functions of their own", "[concurrency]") {
  CHECK(failures_of_eight([](int t) {
          for (int i = 0; i < 3; ++i) {
            const double weight = 0.25 / (1 + t);
            const Sample sample("cpu", weight);
            if (!sample.right(2 + t, weight) || !sample.right(2, weight / 2)) return false;
          }
          return true;
        }) == 0);
}

TEST_CASE("threads: created and joined between calls", "[concurrency]") {
  const Sample sample("cpu", 0.5);
  double weight = 0.5;
  for (int i = 0; i < 20; ++i, weight /= 2) {
    bool right = false;
    std::thread([&] { right = sample.right(4, weight); }).join();
    CHECK(right);
  }
}

TEST_CASE("threads: one with a stack of 256 KiB compiles and calls") {
  bool sample_right = false;
  on_small_stack([&] { sample_right = hosts_test::works_on("cpu"); });
  CHECK(sample_right);
  const Tensor x = placeholder({.shape = {None, 32}, .name = "x"});
  const Tensor y = long_chain(x);
  const Array fed = Array::full({64, 32}, 0.25);
  std::vector<Array> small, usual;
  const auto run = [&](std::vector<Array>& results) {
    results = function({x}, {y, gradients(sum(y), {x})[0]}, {.backend = "cpu"})({fed});
  };
  on_small_stack([&] { run(small); });
  run(usual);
  REQUIRE(small.size() == 2);
  CHECK(small[0] == usual[0]);
  CHECK(small[1] == usual[1]);
}

TEST_CASE("fork: a child of a process that used cpu gets an error, and the parent continues") {
  const Sample sample("cpu");
  CHECK(sample.right(3, 0.125));
  const int status = kiln::testing::in_child([&] {
    const std::string wanted =
        "sample: backend cpu was initialised in process " + std::to_string(::getppid()) +
        " before it forked and cannot be used in its child " + std::to_string(::getpid());
    return kiln::testing::error_of<BackendError>([&] {
             sample.f({Array::full({1, 6, 8}, 1)});
           }).find(wanted) == 0
               ? 0
               : 1;
  });
  CHECK(status == 0);
  CHECK(kiln::testing::in_child([&] {
          return kiln::testing::error_of<BackendError>([] {
                   hosts_test::works_on("cpu");
                 }).find("before it forked and cannot be used in its child") != std::string::npos
                     ? 0
                     : 1;
        }) == 0);
  CHECK(kiln::testing::in_child([] { return hosts_test::works_on("reference") ? 0 : 1; }) == 0);
  CHECK(sample.right(3, 0.0625));
}
