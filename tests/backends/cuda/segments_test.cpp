// Tests calls that the host interrupts by branches and host functions: CUDA graphs between these.
#include "backends/cuda/execute/segments.h"
#include "tests/support/catch.h"
#include "tests/backends/cuda/fresh_backend.h"
#include "tests/support/error_text.h"
#include "test_folders.h"

#include <kiln/k.h>

#include <atomic>
#include <functional>
#include <thread>

using namespace kiln;
using kiln::cuda::cut_segments;
using kiln::cuda::kMaxGraphOperations;
using kiln::cuda::Segment;
using kiln::testing::error_of;

namespace {

using cuda_test::control;

/// Counts calls of the driver, and kernels that are captured.
struct Counts {
  int kernels = 0, graphs = 0, instantiated = 0;
  bool operator==(const Counts&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Counts& counts) {
  return out << counts.kernels << " kernels, " << counts.graphs << " graphs, "
             << counts.instantiated << " instantiated";
}

Counts counts() {
  return {control().calls("cuLaunchKernel"), control().calls("cuGraphLaunch"),
          control().calls("cuGraphInstantiateWithFlags")};
}

/// The driver's calls during `action`.
Counts counts_during(const std::function<void()>& action) {
  const Counts before = counts();
  action();
  const Counts now = counts();
  return {now.kernels - before.kernels, now.graphs - before.graphs,
          now.instantiated - before.instantiated};
}

/// Collects the texts of print_tensor for a scope.
struct ScopedSink {
  ScopedSink() {
    set_print_sink([this](std::string_view) { ++prints; });
  }
  ~ScopedSink() { set_print_sink({}); }
  std::atomic<int> prints{0};
};

/// Several kernels, since the sums are over different axes of a matrix. Exact for small numbers.
Tensor kernels(const Tensor& x) {
  const Tensor sums = x * 0.5 + sum(x, {.axis = {0}, .keepdims = true});
  return sums * 0.25 - max(sums, {.axis = {1}, .keepdims = true});
}

/// Kernels, a branch whose bodies have kernels, the second one more of them, and kernels.
Function branching(const std::string& backend) {
  const Tensor x = placeholder({.shape = {None, 2}, .name = "x"});
  const Tensor first = kernels(x);
  const Tensor chosen = switch_(
      sum(x) > 0.0, [&] { return kernels(first); }, [&] { return kernels(kernels(first * 0.5)); });
  return function({x}, {kernels(chosen)}, {.backend = backend});
}

}  // namespace

TEST_CASE("segments: steps are cut where the host waits, and where graphs become too large") {
  using Segments = std::vector<Segment>;
  CHECK(cut_segments({}).empty());
  CHECK(cut_segments({{2, false}, {1, false}}) == Segments{{0, 2, true}});
  CHECK(cut_segments({{1, false}}) == Segments{{0, 1, false}});
  CHECK(cut_segments({{2, false}, {0, true}, {0, true}, {1, false}, {1, false}}) ==
        Segments{{0, 1, true}, {1, 3, false}, {3, 5, true}});
  CHECK(cut_segments({{1, false}, {5, true}, {1, false}}) ==
        Segments{{0, 1, false}, {1, 2, false}, {2, 3, false}});
  CHECK(cut_segments({{2, false}, {kMaxGraphOperations - 1, false}, {2, false}}) ==
        Segments{{0, 1, true}, {1, 2, false}, {2, 3, true}});
  CHECK(cut_segments({{kMaxGraphOperations, false}, {2, false}}) ==
        Segments{{0, 1, true}, {1, 2, false}});
}

TEST_CASE("segments: before, in and after a branch") {
  control().reset();
  const Function f = branching("cuda"), oracle = branching("reference");
  const Array yes{{1.f, 2.f}, {3.f, 0.f}}, no{{-1.f, -2.f}, {-3.f, 0.f}};
  const auto call = [&](const Array& fed) {
    return counts_during([&] { CHECK(f({fed})[0] == oracle({fed})[0]); });
  };
  const Counts first = call(yes);
  CHECK(first.kernels >= 6);
  CHECK(first.graphs == 0);
  CHECK(call(yes) == Counts{first.kernels, 3, 3});
  CHECK(call(yes) == Counts{0, 3, 0});
  // The other body runs for the first, the second and the third time.
  const Counts other = call(no);
  CHECK(other.kernels >= 4);
  CHECK(other.graphs == 2);
  CHECK(call(no) == Counts{other.kernels, 3, 1});
  CHECK(call(no) == Counts{0, 3, 0});
  CHECK(call(yes) == Counts{0, 3, 0});
}

TEST_CASE("segments: before and after a host function") {
  control().reset();
  const ScopedSink sink;
  const auto make = [](const std::string& backend) {
    const Tensor x = placeholder({.shape = {2, 2}, .name = "x"});
    const Tensor printed = print_tensor(kernels(x), {.message = "amid"});
    return function({x}, {kernels(printed)}, {.backend = backend});
  };
  const Function f = make("cuda"), oracle = make("reference");
  const Array fed{{1.f, -2.f}, {3.f, 0.5f}};
  const Array wanted = oracle({fed})[0];
  const Counts first = counts_during([&] { f({fed}); });
  for (int i = 0; i < 3; ++i) {
    const int before = sink.prints;
    const Counts seen = counts_during([&] { CHECK(f({fed})[0] == wanted); });
    CHECK(seen == (i == 0 ? Counts{first.kernels, 2, 2} : Counts{0, 2, 0}));
    CHECK(sink.prints == before + 1);
  }
}

TEST_CASE("segments: around a loop that the host interrupts, whose iterations are no graphs") {
  control().reset();
  const ScopedSink sink;
  const auto make = [](const std::string& backend) {
    const Tensor x = placeholder({.shape = {1, 3, 2}, .name = "x"});
    const auto step = [](const Tensor& in, const std::vector<Tensor>& states) {
      const Tensor next = print_tensor(kernels(states[0] + in), {.message = "in a loop"});
      return StepResult{next, {next}};
    };
    const Tensor fed = reshape(kernels(reshape(x, {3, 2})), {1, 3, 2});
    const RnnResult result = rnn(step, fed, {zeros({1, 2})});
    const Tensor outputs = reshape(result.outputs, {3, 2});
    return function({x}, {kernels(outputs)}, {.backend = backend});
  };
  const Function f = make("cuda"), oracle = make("reference");
  Array fed = Array::zeros({1, 3, 2});
  float next = 0;
  for (float& element : fed.as<float>()) element = (next += 1) / 8;
  const Array wanted = oracle({fed})[0];
  f({fed});
  for (int i = 0; i < 3; ++i) {
    const int before = sink.prints;
    const Counts seen = counts_during([&] { CHECK(f({fed})[0] == wanted); });
    CHECK(seen.graphs == 2);
    CHECK(seen.instantiated == (i == 0 ? 2 : 0));
    CHECK(seen.kernels >= 6);
    CHECK(sink.prints == before + 3);
  }
}

TEST_CASE("segments: variables, draws and inputs change between calls") {
  control().reset();
  const auto results = [](const std::string& backend) {
    set_random_seed(3);
    const Variable w = variable(Array::full({2, 2}, 0.5)), steps = variable(Array::zeros({2}));
    const Tensor x = placeholder({.shape = {2, 2}, .name = "x"});
    const Tensor noisy = dropout(kernels(x * w), 0.5, {.seed = 7});
    const Tensor chosen = switch_(
        sum(x) > 0.0, [&] { return kernels(noisy) * 0.125; }, [&] { return noisy * 0.25 - w; });
    const Function f =
        function({x}, {sum(chosen)},
                 {.updates = {update(w, chosen), update_add(steps, 1.0)}, .backend = backend});
    std::vector<Array> list;
    for (int call = 0; call < 12; ++call) {
      const float sign = call % 3 == 2 ? -1.f : 1.f;
      list.push_back(f({Array{{sign, sign * 0.5f}, {call % 2 == 0 ? 0.f : 0.25f, 0.f}}})[0]);
      list.push_back(get_value(w));
      list.push_back(get_value(steps));
      // A new buffer: another address for the next calls. Few bits, so that all sums stay exact.
      set_value(w, Array::full({2, 2}, 0.5 + 0.25 * (call % 2)));
      if (call >= 6) f({Array{{sign, 0.f}, {0.f, 0.f}}});
    }
    return list;
  };
  const std::vector<Array> found = results("cuda"), wanted = results("reference");
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    INFO("result " << i % 3 << " of call " << i / 3);
    CHECK(found[i] == wanted[i]);
  }
}

TEST_CASE("segments: an index out of range stops the segments after it") {
  control().reset();
  const Tensor i = placeholder({.shape = {2}, .dtype = "int32", .name = "i"});
  const Variable table = variable(Array::full({5, 3}, 0.5), {.name = "table"});
  const Variable calls = variable(Array::zeros({3}), {.name = "calls"});
  // The first index is read before the branch, the second one in a body.
  const auto make = [&](const std::string& backend) {
    const Tensor early = sum(gather(table, slice(i, {0}, {1})));
    const Tensor chosen = switch_(
        early > 0.0, [&] { return kernels(gather(table, slice(i, {1}, {1})) * 2.0); },
        [&] { return zeros({1, 3}); });
    return function({i}, {sum(chosen)}, {.updates = {update_add(calls, 1.0)}, .backend = backend});
  };
  const Function f = make("cuda"), oracle = make("cpu");
  const Array good(std::vector<std::int32_t>{1, 4}, {2});
  const auto call = [](const Function& called, const Array& fed) { called({fed}); };
  float done = 0;
  for (int round = 0; round < 5; ++round) {
    call(f, good);
    ++done;
    for (const std::vector<std::int32_t>& bad : {std::vector{9, 1}, {1, 8}, {9, 8}}) {
      INFO("round " << round << ", index " << bad[0] << ", " << bad[1]);
      const Array fed(bad, {2});
      const std::string wanted = error_of<ValueError>([&] { call(oracle, fed); });
      CHECK(error_of<ValueError>([&] { call(f, fed); }) == wanted);
      CHECK(get_value(calls) == Array::full({3}, done));
    }
  }
}

TEST_CASE("segments: an index out of range in a branch of a loop names the line of its body") {
  control().reset();
  const Tensor i = placeholder({.shape = {1, 4, 1}, .dtype = "int32", .name = "i"});
  const Tensor table = constant(Array::full({5, 3}, 0.5));
  const Tensor other = constant(Array::full({7, 3}, 0.25));
  const auto step = [&](const Tensor& in, const std::vector<Tensor>& states) {
    const Tensor row = reshape(in, {1});
    const Tensor next = switch_(
        sum(states[0]) < 2.0, [&] { return kernels(gather(table, row)) + states[0] + 1.0; },
        [&] { return gather(other, row) + states[0]; });
    return StepResult{next, {next}};
  };
  const Tensor last = rnn(step, i, {zeros({1, 3})}).last_output;
  const Function f = function({i}, {last}, {.backend = "cuda"});
  const Function oracle = function({i}, {last}, {.backend = "cpu"});
  const auto call = [](const Function& called, const Array& fed) { called({fed}); };
  for (const std::vector<std::int32_t>& bad :
       {std::vector{5, 0, 0, 0}, {0, 0, 7, 0}, {0, 0, 0, 9}, {1, 6, 7, -8}}) {
    const Array fed(bad, {1, 4, 1});
    const std::string wanted = error_of<ValueError>([&] { call(oracle, fed); });
    CHECK_THAT(wanted, Catch::Matchers::ContainsSubstring("is outside of an axis of size "));
    for (int round = 0; round < 3; ++round) {
      CHECK(error_of<ValueError>([&] { call(f, fed); }) == wanted);
    }
  }
}

TEST_CASE("segments: a driver that rejects a graph amid a call runs it kernel by kernel") {
  control().reset();
  const Function oracle = branching("reference");
  const Array fed{{1.f, 2.f}, {3.f, 0.f}};
  const Array wanted = oracle({fed})[0];
  for (int nth = 1; nth <= 3; ++nth) {
    INFO("graph " << nth);
    const Function f = branching("cuda");
    f({fed});
    control().fail("cuGraphInstantiateWithFlags", nth, 801);  // not supported
    // The graphs before that one were launched already.
    CHECK(counts_during([&] { CHECK(f({fed})[0] == wanted); }).graphs == nth - 1);
    control().reset();
    for (int call = 0; call < 3; ++call) {
      CHECK(counts_during([&] { CHECK(f({fed})[0] == wanted); }).graphs == 0);
    }
  }
}

TEST_CASE("segments: errors before and after a graph that writes over variables") {
  control().reset();
  const auto fail_twice = [](const char* function) {
    for (const int nth : {1, 2}) control().fail(function, nth, 304);
  };
  for (const int calls : {1, 2}) {  // the next call records the graph, or replays it
    INFO("calls before " << calls);
    const cuda_test::FreshBackend backend(KILN_BINARY_DIR);
    const Variable a = variable(Array::zeros({3}), {.name = "a"});
    const Variable b = variable(Array::zeros({5, 7}), {.name = "b"});
    // The output is copied to the host after the graph.
    const Function f = function({}, {a * 2.0},
                                {.updates = {update_add(a, 1.0), update_add(b, 1.0)},
                                 .name = "step",
                                 .backend = backend.path()});
    const Function look = function({}, {a + 0.0, b + 0.0}, {.backend = backend.path()});
    const auto step = [&] { f(std::vector<Array>{}); };
    for (int call = 0; call < calls; ++call) step();
    const std::vector<Array> before = look();
    fail_twice("cuGraphLaunch");
    CHECK(error_of<BackendError>(step).find("cannot launch a graph") != std::string::npos);
    control().reset();
    CHECK(look() == before);
    CHECK(counts_during(step).graphs == 1);
    CHECK(look()[0] == Array::full({3}, calls + 1));
    fail_twice("cuMemcpyDtoHAsync");
    const std::string lost = "overwritten variables are lost";
    CHECK_THAT(error_of<BackendError>(step), Catch::Matchers::ContainsSubstring(lost));
    control().reset();
    CHECK_THAT(error_of<BackendError>([&] { get_value(b); }),
               Catch::Matchers::ContainsSubstring(lost));
  }
}

TEST_CASE("segments: several threads take different bodies", "[concurrency]") {
  control().reset();
  const Function f = branching("cuda"), oracle = branching("reference");
  const Array yes{{1.f, 2.f}, {3.f, 0.f}}, no{{-1.f, -2.f}, {-3.f, 0.f}};
  const Array wanted_yes = oracle({yes})[0], wanted_no = oracle({no})[0];
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const bool is_yes = (t + i / 3) % 2 == 0;
        wrong += f({is_yes ? yes : no})[0] != (is_yes ? wanted_yes : wanted_no);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}
