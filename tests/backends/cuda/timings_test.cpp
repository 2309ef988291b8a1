// Tests the dump stage `timings`: times of a call's steps, by events of the device.
#include "tests/support/catch.h"
#include "tests/backends/cuda/fresh_backend.h"
#include "tests/support/environment.h"
#include "tests/support/scratch.h"
#include "tests/support/has.h"
#include "test_folders.h"

#include <kiln/k.h>

#include <sstream>
#include <thread>

using namespace kiln;
using kiln::testing::contents_of;
using kiln::testing::EnvironmentVariable;
using kiln::testing::Scratch;

namespace {

using cuda_test::control;

using kiln::testing::has;

struct Row {
  int calls = 0;
  double sum = 0, mean = 0, shortest = 0;
  std::string words;
};

/// The rows whose words have `part`.
std::vector<Row> rows(const std::string& table, const std::string& part) {
  std::vector<Row> found;
  std::istringstream in(table);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("#") || line.starts_with("     calls") || !has(line, part)) continue;
    Row row;
    std::string share;
    std::istringstream words(line);
    words >> row.calls >> row.sum >> row.mean >> row.shortest >> share;
    std::getline(words, row.words);
    found.push_back(row);
  }
  return found;
}

/// The table of the function's timed calls.
std::string table_of(const Function& f) {
  const Scratch scratch;
  f.dump(scratch.path("f"), Stage::Timings);
  return contents_of(scratch.path("f/70-timings-calls.txt"));
}

struct SilentPrints {
  SilentPrints() {
    set_print_sink([](std::string_view) {});
  }
  ~SilentPrints() { set_print_sink({}); }
};

/// A loop over the second axis of x, whose size is unknown.
Function running_sum(const std::string& backend = "cuda") {
  const Tensor x = placeholder({.shape = {1, None, 2}});
  const auto step = [](const Tensor& in, const std::vector<Tensor>& states) {
    const Tensor next = states[0] + in;
    return StepResult{next * 2.0, {next}};
  };
  const RnnResult r = rnn(step, x, {zeros({1, 2})});
  return function({x}, {r.last_output, r.outputs}, {.backend = backend});
}

}  // namespace

TEST_CASE("timings: a row for each step with its line, those of loops for all iterations") {
  control().reset();
  const EnvironmentVariable disable("KILN_DISABLE", "fuse_loops");
  const Function f = running_sum();
  CHECK(has(table_of(f), "# 0 calls "));
  const std::size_t events = control().usage().events;
  const int graphs = control().calls("cuGraphLaunch");
  const std::vector<Array> wanted = running_sum("reference")({Array::full({1, 7, 2}, 1)});
  for (int call = 0; call < 3; ++call) CHECK(f({Array::full({1, 7, 2}, 1)}) == wanted);
  CHECK(control().usage().events == events);
  CHECK(control().calls("cuGraphLaunch") == graphs);
  const std::string table = table_of(f);
  INFO(table);
  CHECK(has(table, "# 3 calls since timings were requested\n"));
  CHECK(has(table, "\n     calls  microseconds        mean    shortest   share\n"));
  const std::vector<Row> whole = rows(table, "the whole call"), loops = rows(table, "loop (");
  REQUIRE(whole.size() == 1);
  CHECK(whole[0].calls == 3);
  REQUIRE(loops.size() == 1);
  CHECK(loops[0].calls == 3);
  CHECK(has(loops[0].words, "timings_test.cpp:"));
  double of_body = 0;
  int body_rows = 0;
  for (const Row& row : rows(table, "kernel ")) {
    if (row.words.find("kernel ") <= loops[0].words.find("loop ")) continue;
    ++body_rows;
    CHECK(row.calls == 21);
    CHECK(row.shortest <= row.mean);
    of_body += row.sum;
  }
  CHECK(body_rows >= 1);
  CHECK(of_body > 0);
  CHECK(of_body <= loops[0].sum * 1.001 + 1);
  CHECK(loops[0].sum <= whole[0].sum * 1.001 + 1);
}

TEST_CASE("timings: more steps than events are kept for") {
  control().reset();
  const EnvironmentVariable disable("KILN_DISABLE", "fuse_loops");
  const Function f = running_sum();
  static_cast<void>(table_of(f));
  const int before = control().calls("cuEventCreate");
  f({Array::full({1, 1500, 2}, 1)});
  CHECK(control().calls("cuEventCreate") - before < 2200);
  const std::string table = table_of(f);
  INFO(table);
  const std::vector<Row> kernels = rows(table, "_mul_line");
  REQUIRE(kernels.size() == 1);
  CHECK(kernels.back().calls == 1500);
}

TEST_CASE("timings: a branch has times of the body that was taken, and host calls have some") {
  control().reset();
  const SilentPrints silent;
  const Tensor x = placeholder({.shape = {2}, .name = "x"});
  const Tensor chosen = switch_(sum(x) > 0.0, [&] { return exp(x); }, [&] { return cos(x); });
  const Tensor m = placeholder({.shape = {4, 4}, .name = "m"});
  const Tensor y = print_tensor(chosen, {.message = "chosen"}) + 1.0;
  const Function f = function({x, m}, {y, dot(m, m)}, {.backend = "cuda"});
  static_cast<void>(table_of(f));
  for (const float sign : {1.f, -1.f, 1.f}) f({Array{sign, 0.f}, Array::full({4, 4}, 1)});
  const std::string table = table_of(f);
  INFO(table);
  const auto calls_of = [&](const std::string& part) {
    int calls = 0;
    for (const Row& row : rows(table, part)) calls += row.calls;
    return calls;
  };
  CHECK(calls_of("branch (") == 3);
  CHECK(calls_of("host_call ") == 3);
  CHECK(calls_of("_exp") == 2);
  CHECK(calls_of("_cos") == 1);
  CHECK(calls_of("matmul ") == 3);
}

TEST_CASE("timings: an event that fails costs the times of its call alone") {
  control().reset();
  const EnvironmentVariable disable("KILN_DISABLE", "fuse_loops");
  const Function f = running_sum();
  static_cast<void>(table_of(f));
  const Array fed = Array::full({1, 3, 2}, 1);
  const std::vector<Array> wanted = f({fed});
  int failures = 0;
  for (const char* function : {"cuEventCreate", "cuEventRecord", "cuEventElapsedTime"}) {
    for (const int nth : {1, 2, 5}) {
      INFO(function << ", call " << nth);
      const std::size_t events = control().usage().events;
      control().fail(function, nth, 304);
      CHECK(f({fed}) == wanted);
      control().reset();
      CHECK(control().usage().events == events);
      ++failures;
    }
  }
  const std::string table = table_of(f);
  INFO(table);
  CHECK(has(table, "# 1 calls since timings were requested\n"));
  CHECK(has(table, "# " + std::to_string(failures) + " calls were not timed: cannot create an "));
  CHECK(has(table, "CUDA_ERROR_OPERATING_SYSTEM (304)"));
}

TEST_CASE("timings: an event that ends the device is the error of the call") {
  control().reset();
  const cuda_test::FreshBackend backend(KILN_BINARY_DIR);
  const Function f = running_sum(backend.path());
  static_cast<void>(table_of(f));
  control().fail("cuEventRecord", 2, 700);
  CHECK_THROWS_AS(f({Array::full({1, 3, 2}, 1)}), BackendError);
  control().reset();
  CHECK_THROWS_AS(f({Array::full({1, 3, 2}, 1)}), BackendError);
}

TEST_CASE("timings: calls of several threads are added up", "[concurrency]") {
  control().reset();
  const EnvironmentVariable disable("KILN_DISABLE", "fuse_loops");
  const Function f = running_sum();
  static_cast<void>(table_of(f));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) f({Array::full({1, 5, 2}, 1)});
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string table = table_of(f);
  INFO(table);
  CHECK(has(table, "# 40 calls "));
  const std::vector<Row> kernels = rows(table, "_mul_line");
  REQUIRE(kernels.size() == 1);
  CHECK(kernels.back().calls == 200);
}
