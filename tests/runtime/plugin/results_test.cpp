// Tests memory of large results: recycled, not filled, counted, bounded, released. A limit enables
// recycling under AddressSanitizer, which disables it by default.
#include "tests/support/catch.h"
#include "tests/support/child.h"

#include "tests/runtime/plugin/fakes.h"

#include <kiln/k.h>

#include <atomic>
#include <thread>

using namespace kiln;

namespace {

constexpr std::int64_t kLarge = 1 << 16, kLimit = std::int64_t{1} << 30;
constexpr std::int64_t kBytes = 4 * kLarge;

Function increment(const std::string& name = "f", const std::string& backend = "instant") {
  const Tensor x = placeholder({.shape = {None}, .name = "x"});
  const bool is_fake = backend != "cpu" && backend != "reference";
  return function({x}, {x + 1.0},
                  {.name = name, .backend = is_fake ? runtime::fake_path(backend) : backend});
}

/// Releases idle memory, and sets a limit, also under AddressSanitizer.
void begin() {
  set_idle_memory_limit(kLimit);
  release_idle_memory();
}

}  // namespace

TEST_CASE("large results: one takes the memory of another that was destroyed") {
  begin();
  for (const char* backend : {"instant", "buffered", "cpu", "reference"}) {
    INFO(backend);
    const Function f = increment("f", backend);
    const Array x = Array::full({kLarge}, 1);
    const void* first = nullptr;
    {
      const std::vector<Array> results = f({x});
      first = results[0].as_view().data;
      const Array other = f({x})[0];
      CHECK(other.as_view().data != first);
    }
    const ArrayMemory before = f.stats().arrays;
    const std::vector<Array> results = f({x});
    CHECK(results[0].as_view().data == first);
    CHECK(results[0] == Array::full({kLarge}, 2));
    const ArrayMemory after = f.stats().arrays;
    CHECK(after.fresh == before.fresh);
    CHECK(after.reused > before.reused);
  }
}

TEST_CASE("large results: not filled before they are written") {
  begin();
  const Array x = Array::full({kLarge}, 41);
  const Array wanted = Array::full({kLarge}, 42);
  const Function writes = increment(), idle = increment("idle");
  writes({x});
  CHECK(idle({x})[0] == wanted);
}

TEST_CASE("large results: a call copies no fed Array, nor one whose address was taken") {
  begin();
  const Function f = increment();
  Array x = Array::zeros({kLarge});
  x.as<float>()[7] = 3;
  const auto arrays = [&] {
    const ArrayMemory memory = f.stats().arrays;
    return memory.fresh + memory.reused;
  };
  const std::int64_t before = arrays();
  CHECK(f({x})[0].at<float>(7) == 4);
  CHECK(arrays() == before + 1);
}

TEST_CASE("large results: kept ones do not change") {
  begin();
  const Function f = increment("f", "cpu");
  std::vector<Array> kept;
  for (int i = 0; i < 5; ++i) kept.push_back(f({Array::full({kLarge}, i)})[0]);
  float next = 0;
  for (const Array& result : kept) CHECK(result == Array::full({kLarge}, ++next));
}

TEST_CASE("large results: bytes in use and idle bytes are counted") {
  begin();
  const Function f = increment();
  const std::int64_t used = f.stats().arrays.used_bytes;
  {
    const Array x = Array::zeros({kLarge});
    CHECK(f.stats().arrays.used_bytes == used + kBytes);
    const Array same = x;
    const std::vector<Array> results = f({x});
    CHECK(f.stats().arrays.used_bytes == used + 2 * kBytes);
    CHECK(f.stats().arrays.idle_bytes == 0);
  }
  CHECK(f.stats().arrays.used_bytes == used);
  CHECK(f.stats().arrays.idle_bytes == 2 * kBytes);
  CHECK(release_idle_memory() == 2 * kBytes);
  CHECK(release_idle_memory() == 0);
  CHECK(f.stats().arrays.idle_bytes == 0);
}

TEST_CASE("large results: a limit bounds the idle bytes") {
  begin();
  const Function f = increment();
  set_idle_memory_limit(kBytes);
  f({Array::zeros({kLarge})});
  CHECK(f.stats().arrays.idle_bytes == kBytes);
  set_idle_memory_limit(kBytes - 1);
  CHECK(f.stats().arrays.idle_bytes == 0);
  f({Array::zeros({kLarge})});
  CHECK(f.stats().arrays.idle_bytes == 0);
  CHECK(runtime::error_text<ValueError>([] { set_idle_memory_limit(-1); }) ==
        "set_idle_memory_limit: bytes -1 is negative");
  f({Array::zeros({kLarge})});
  CHECK(f.stats().arrays.idle_bytes == 0);
  set_idle_memory_limit(kLimit);
}

TEST_CASE("large results: a failing call releases its results' memory") {
  begin();
  const Array x = Array::full({kLarge}, 1);
  const Function fails = increment("fail"), works = increment();
  const std::int64_t used = works.stats().arrays.used_bytes;
  for (int i = 0; i < 3; ++i) {
    CHECK_THROWS_AS(fails({x}), BackendError);
    CHECK(works.stats().arrays.used_bytes == used);
    CHECK(works({x})[0] == Array::full({kLarge}, 2));
  }
  CHECK(Array::zeros({kLarge}) == Array(std::vector<float>(kLarge)));
}

TEST_CASE("results: without elements, and of one element") {
  begin();
  const Function f = increment("f", "cpu");
  CHECK(f({Array::zeros({0})})[0] == Array::zeros({0}));
  CHECK(f({Array::zeros({1})})[0] == Array::full({1}, 1));
  CHECK(f.stats().arrays.idle_bytes == 0);
}

TEST_CASE("large variables: values that are read use recycled memory") {
  begin();
  for (const char* backend : {"cpu", "reference"}) {
    const Tensor w = zeros({kLarge});
    const Function step = function({}, {}, {.updates = {update_add(w, 1.0)}, .backend = backend});
    step();
    step();
    const auto address_of = [](const Array& array) { return array.data(); };
    const void* first = address_of(get_value(w));
    const Array kept = get_value(w);
    CHECK(kept.as_view().data == first);
    const ArrayMemory before = step.stats().arrays;
    for (int i = 0; i < 6; ++i) {
      step();
      CHECK(get_value(w) == Array::full({kLarge}, i + 3));
    }
    const ArrayMemory after = step.stats().arrays;
    CHECK(after.reused > before.reused);
    CHECK(after.used_bytes <= before.used_bytes + 2 * kBytes);
    CHECK(kept == Array::full({kLarge}, 2));
  }
}

TEST_CASE("large results: threads call while idle memory is released", "[concurrency]") {
  begin();
  const Function f = increment();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const Array x = Array::full({kLarge}, t);
      for (int i = 0; i < 20; ++i) {
        const Array y = f({x})[0];
        if (i % 5 == 0) release_idle_memory();
        wrong += y.at<float>(0) != t + 1 || y.at<float>(kLarge - 1) != t + 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("large Arrays: they outlive static objects and threads") {
  CHECK(kiln::testing::in_new_process("[.outlive]", "KILN_TEST_OUTLIVE", "1") == 0);
}

TEST_CASE("child: large Arrays outlive all but the process", "[.outlive]") {
  static Array kept = Array::zeros({kLarge});
  static const Function f = increment();
  static thread_local Array of_thread = Array::zeros({kLarge});
  kept = f({of_thread})[0];
  CHECK(kept == Array::full({kLarge}, 1));
}
