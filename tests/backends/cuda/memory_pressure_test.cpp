// Tests scarce memory: functions whose arenas do not fit together, sizes that alternate, and calls
// within calls.
#include "tests/support/catch.h"
#include "tests/backends/cuda/fresh_backend.h"
#include "tests/support/environment.h"
#include "tests/support/error_text.h"
#include "test_folders.h"

#include <kiln/k.h>

#include <atomic>
#include <thread>

using namespace kiln;
using cuda_test::FreshBackend;
using kiln::testing::error_text;

namespace {

using cuda_test::control;

using cuda_test::kMiB;

/// A backend with a memory limit.
class LimitedBackend : public FreshBackend {
 public:
  explicit LimitedBackend(std::int64_t mebibytes) : FreshBackend(KILN_BINARY_DIR) {
    control().reset();
    set_backend_options(path(), {{"memory_limit", std::to_string(mebibytes * kMiB)}});
  }
};

/// Twice the input's floats, which are equal. Two kernels: a call of one has no graph.
Function doubling(const std::string& backend) {
  const Tensor x = placeholder({.shape = {None}, .name = "x"});
  return function({x}, {x + max(x)}, {.name = "doubling", .backend = backend});
}

/// A call needs about twice as much: its input and its output.
Array mebibytes(double count, double value) {
  return Array::full({static_cast<std::int64_t>(count * kMiB / 4)}, value);
}

struct ScopedSink {
  explicit ScopedSink(PrintSink sink) { set_print_sink(std::move(sink)); }
  ~ScopedSink() { set_print_sink({}); }
};

}  // namespace

TEST_CASE("memory pressure: functions whose arenas do not fit together work alternately") {
  const LimitedBackend backend(10);
  const Function f = doubling(backend.path()), g = doubling(backend.path());
  for (int round = 0; round < 3; ++round) {
    CHECK(f({mebibytes(3, 1)})[0] == mebibytes(3, 2));
    CHECK(g({mebibytes(3.5, 2)})[0] == mebibytes(3.5, 4));
    CHECK(g({mebibytes(1, 3)})[0] == mebibytes(1, 6));
  }
  CHECK_THAT(error_text<OutOfMemory>([&] { f({mebibytes(6, 1)}); }),
             Catch::Matchers::StartsWith("doubling: device 0 (Fake GPU) has no memory for "));
  CHECK(f({mebibytes(3, 1)})[0] == mebibytes(3, 2));
}

TEST_CASE("memory pressure: replaced values and failed updates keep no memory") {
  const LimitedBackend backend(32);
  const Variable p = variable(mebibytes(8, 1), {.name = "p"});
  const Variable q = variable(mebibytes(8, 2), {.name = "q"});
  const Function sums = function({}, {max(p), max(q)}, {.backend = backend.path()});
  const Function swap = function(
      {}, {}, {.updates = {update(p, q), update(q, p)}, .name = "swap", .backend = backend.path()});
  const auto check = [&](float first, float second) {
    const std::vector<Array> found = sums({});
    CHECK(found[0] == Array(first));
    CHECK(found[1] == Array(second));
  };
  check(1, 2);
  // Both new values, both old ones, and the arena.
  CHECK_THROWS_AS(swap({}), OutOfMemory);
  check(1, 2);
  for (const float value : {7.f, 8.f, 9.f}) {
    set_value(p, mebibytes(8, value));
    check(value, 2);
  }
  batch_set_value({{p, mebibytes(8, 3)}, {q, mebibytes(8, 4)}});
  check(3, 4);
}

TEST_CASE("memory pressure: inputs and outputs are among the largest tensors of an error") {
  const LimitedBackend backend(10);
  const Tensor x = placeholder({.shape = {None}, .name = "x"});
  const Function f = function({x}, {x * 2.0}, {.name = "f", .backend = backend.path()});
  const std::string error = error_text<OutOfMemory>([&] { f({mebibytes(6, 1)}); });
  INFO(error);
  const std::string input = "; the largest: 6291456 bytes of float32[1572864] (input x at ";
  CHECK(error.find(input) != error.npos);
  CHECK(error.find("6291456 bytes of float32[1572864] (operator* at ") != error.npos);
}

TEST_CASE("memory pressure: sizes that alternate keep their graphs") {
  const FreshBackend backend(KILN_BINARY_DIR);
  control().reset();
  const Function f = doubling(backend.path());
  const auto round = [&] {
    for (const double count : {0.1, 3.0, 0.5}) {
      CHECK(f({mebibytes(count, 1)})[0] == mebibytes(count, 2));
    }
  };
  for (int i = 0; i < 3; ++i) round();
  const int launches = control().calls("cuGraphLaunch");
  const int instantiations = control().calls("cuGraphInstantiateWithFlags");
  for (int i = 0; i < 3; ++i) round();
  CHECK(control().calls("cuGraphLaunch") == launches + 9);
  CHECK(control().calls("cuGraphInstantiateWithFlags") == instantiations);
}

TEST_CASE("memory pressure: variables take the memory of arenas, and graphs stay right") {
  const LimitedBackend backend(11);
  const Function f = doubling(backend.path());
  for (int i = 0; i < 3; ++i) f({mebibytes(3, 1)});
  const int launches = control().calls("cuGraphLaunch");
  {
    const Variable w = variable(mebibytes(6, 1), {.name = "w"});
    const Function twice =
        function({}, {}, {.updates = {update(w, w * 2.0)}, .backend = backend.path()});
    twice();
    CHECK(get_value(w) == mebibytes(6, 2));
    CHECK_THROWS_AS(f({mebibytes(3, 1)}), OutOfMemory);
    CHECK(f({mebibytes(0.9, 1)})[0] == mebibytes(0.9, 2));
  }
  CHECK(control().calls("cuGraphLaunch") == launches);
  // Graphs of memory that was released since are recorded again.
  const int instantiations = control().calls("cuGraphInstantiateWithFlags");
  for (int i = 0; i < 3; ++i) CHECK(f({mebibytes(3, 1)})[0] == mebibytes(3, 2));
  CHECK(control().calls("cuGraphInstantiateWithFlags") == instantiations + 1);
  CHECK(control().calls("cuGraphLaunch") > launches);
}

TEST_CASE("memory pressure: a call takes the arena of a stream that a call within a call used") {
  const LimitedBackend backend(11);
  const Function f = doubling(backend.path());
  const Tensor x = placeholder({.shape = {None}, .name = "x"});
  const Function outer =
      function({x}, {print_tensor(sum(x), {.message = "sum"}) + 1.0}, {.backend = backend.path()});
  int inner = 0;
  const ScopedSink sink([&](std::string_view) { inner += f({mebibytes(1, 1)})[0].size() != 0; });
  for (int round = 0; round < 3; ++round) {
    CHECK(outer({Array{1.f, 2.f}})[0].item<float>() == 4);
    CHECK(inner == round + 1);
    CHECK(f({mebibytes(4.5, 1)})[0] == mebibytes(4.5, 2));
  }
}

TEST_CASE("memory pressure: threads that take arenas from each other", "[concurrency]") {
  const LimitedBackend backend(17);
  const Function f = doubling(backend.path()), g = doubling(backend.path());
  std::atomic<int> wrong{0}, done{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 8; ++i) {
        const double count = 1 + (t + i) % 3;
        try {
          const Array y = (i % 2 == 0 ? f : g)({mebibytes(count, t)})[0];
          wrong += y != mebibytes(count, 2 * t);
          ++done;
        } catch (const OutOfMemory&) {
          continue;  // three calls at once need up to 18 MiB
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(done > 0);
  CHECK(f({mebibytes(7, 1)})[0] == mebibytes(7, 2));
}
