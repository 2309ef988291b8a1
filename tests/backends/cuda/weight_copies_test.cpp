// Tests steps that depend on variables alone: transposed filters and merged weights are computed
// when a variable has changed, not in each call.
#include "tests/support/catch.h"
#include "tests/backends/cuda/fake_convolutions.h"
#include "tests/backends/cuda/library_operands.h"
#include "tests/support/error_text.h"
#include "tests/support/has.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <atomic>
#include <thread>

using namespace kiln;
using namespace cuda_test;
using kiln::testing::has;

namespace {

/// Counts what `action` queues by that driver function.
template <class Action>
int calls_of(const char* function, const Action& action) {
  const int before = control().calls(function);
  action();
  return control().calls(function) - before;
}

Variable filter_variable(unsigned seed) { return variable(drawn({3, 3, 4, 5}, seed)); }

/// A convolution of a variable, and a kernel after it.
struct Layer {
  explicit Layer(unsigned seed = 1) : w(filter_variable(seed)) {
    convolutions();
    control().reset();
  }
  Tensor output() const { return relu(conv2d(x, w, {.padding = "same"})); }
  Function on(const std::string& backend) const {
    return function({x}, {output()}, {.backend = backend});
  }
  void check(const Function& f) const {
    const Array wanted = on("reference")({fed})[0];
    CHECK(test::difference(f({fed})[0], wanted, 1e-5, 1e-5) == "");
  }

  Tensor x = input({2, 6, 6, 4});
  Variable w;
  Array fed = drawn({2, 6, 6, 4}, 9);
};

int kernels_of(const Function& f, const std::string& name) {
  const testing::Scratch scratch;
  f.dump(scratch.path("f"), Stage::Plan);
  const std::string plan = testing::contents_of(scratch.path("f/52-plan.txt"));
  int found = 0;
  for (std::size_t at = plan.find("kernel k"); at != plan.npos;
       at = plan.find("kernel k", at + 1)) {
    found += has(plan.substr(at, plan.find('(', at) - at), name) ? 1 : 0;
  }
  return found;
}

}  // namespace

TEST_CASE("weight copies: a filter is transposed when its variable has changed") {
  const Layer layer;
  const Function f = layer.on("cuda");
  const auto launches = [&] { return calls_of("cuLaunchKernel", [&] { layer.check(f); }); };
  CHECK(launches() == 2);
  CHECK(launches() == 1);  // recorded in a graph
  CHECK(launches() == 0);
  for (const unsigned seed : {2u, 3u, 4u}) {
    set_value(layer.w, drawn({3, 3, 4, 5}, seed));
    const int graphs = calls_of("cuGraphInstantiateWithFlags", [&] { CHECK(launches() == 1); });
    CHECK(graphs == 0);  // the copy stays where it is
    CHECK(launches() == 0);
  }
}

TEST_CASE("weight copies: all sizes of an input share a copy") {
  const Layer layer;
  const Tensor x = input({None, 6, 6, 4});
  const Function f = function({x}, {conv2d(x, layer.w)}, {.backend = "cuda"});
  const auto launches = [&](std::int64_t rows) {
    return calls_of("cuLaunchKernel", [&] { f({drawn({rows, 6, 6, 4}, 3)}); });
  };
  CHECK(launches(2) == 1);
  CHECK(launches(3) == 0);
  CHECK(launches(5) == 0);
  CHECK(launches(2) == 0);
}

TEST_CASE("weight copies: functions of one program keep copies of their own variables") {
  const Layer first(1), second(2);
  const Function f = first.on("cuda"), g = second.on("cuda");
  for (int i = 0; i < 3; ++i) {
    first.check(f);
    second.check(g);
  }
  const int launches = calls_of("cuLaunchKernel", [&] {
    first.check(f);
    second.check(g);
  });
  CHECK(launches == 0);
}

TEST_CASE("weight copies: the gradients of a convolution share its transposed filter") {
  const Layer layer;
  const Tensor loss = sum(square(conv2d(tanh(layer.x), layer.w)));
  const std::vector<Tensor> slopes = gradients(loss, {layer.x, layer.w});
  const auto step = [&](const std::string& backend) {
    return function({layer.x}, {loss, slopes[0]},
                    {.updates = {update(layer.w, layer.w - 0.01 * slopes[1])}, .backend = backend});
  };
  const Function f = step("cuda");
  CHECK(kernels_of(f, "_transpose_filter") == 2);  // the filter, and its gradient
  const Array start = get_value(layer.w);
  const auto run = [&](const Function& one) {
    set_value(layer.w, start);
    std::vector<Array> results;
    for (int i = 0; i < 3; ++i) results = one({layer.fed});
    results.push_back(get_value(layer.w));
    return results;
  };
  const std::vector<Array> found = run(f), wanted = run(step("reference"));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CHECK(test::difference(found[i], wanted[i], 1e-4, 1e-4) == "");
  }
}

TEST_CASE("weight copies: a variable that is reshaped to filters of two sizes") {
  const Layer layer;
  const Tensor other = reshape(layer.w, {3, 3, 5, 4});
  const std::vector<Tensor> outputs{conv2d(conv2d(layer.x, layer.w), other)};
  const Function f = function({layer.x}, outputs, {.backend = "cuda"});
  CHECK(kernels_of(f, "_transpose_filter") == 2);
  const Array wanted = function({layer.x}, outputs, {.backend = "reference"})({layer.fed})[0];
  CHECK(test::difference(f({layer.fed})[0], wanted, 1e-5, 1e-4) == "");
}

TEST_CASE("weight copies: a filter of one channel and one window has both layouts") {
  convolutions();
  const Tensor x = input({2, 6, 1}), one = input({1, 1, 4}), row = input({3, 2, 1});
  const Tensor wide = input({2, 6, 2});
  CHECK(kernels_of(function({x, one}, {conv1d(x, one)}, {.backend = "cuda"}), "transpose") == 0);
  CHECK(kernels_of(function({wide, row}, {conv1d(wide, row)}, {.backend = "cuda"}), "transpose") ==
        0);
}

TEST_CASE("weight copies: weights of gates are merged when a variable has changed") {
  control().reset();
  constexpr std::int64_t kUnits = 8;
  std::vector<Variable> weights;
  for (unsigned i = 0; i < 2; ++i) weights.push_back(variable(drawn({kUnits, kUnits}, i)));
  const Tensor x = input({3, 5, kUnits});
  const StepFunction gates = [&](const Tensor& now, const std::vector<Tensor>& states) {
    const Tensor next =
        sigmoid(dot(states[0], weights[0]) + now) * tanh(dot(states[0], weights[1]));
    return StepResult{next, {next}};
  };
  const Tensor y = rnn(gates, x, {sum(x, {.axis = 1}) * 0.1}).outputs;
  const Function f = function({x}, {y}, {.backend = "cuda"});
  const Function plain = function({x}, {y}, {.backend = "reference"});
  const Array fed = drawn({3, 5, kUnits}, 7);
  const auto launches = [&] {
    return calls_of("cuLaunchKernel", [&] {
      CHECK(test::difference(f({fed})[0], plain({fed})[0], 1e-5, 1e-5) == "");
    });
  };
  const int all = launches();
  CHECK(launches() < all);
  CHECK(launches() == 0);
  set_value(weights[1], drawn({kUnits, kUnits}, 5));
  CHECK(launches() > 0);
  CHECK(launches() == 0);
  const testing::Scratch scratch;
  f.dump(scratch.path("f"), Stage::MemoryPlan);
  const std::string memory = testing::contents_of(scratch.path("f/53-memory_plan-sizes_1.txt"));
  INFO(memory);
  CHECK(has(memory, "; cached: 512 bytes"));
  CHECK(has(memory, "runs when one of %"));
}

TEST_CASE("weight copies: a call that fails shares nothing") {
  const Layer layer;
  const Tensor rows = input({2}, "int32"), table = input({3, 4});
  const Tensor y = sum(gather(table, rows)) + layer.output();
  const auto on = [&](const std::string& backend) {
    return function({layer.x, rows, table}, {y}, {.backend = backend});
  };
  const Function f = on("cuda");
  const Array numbers = drawn({3, 4}, 4);
  const auto with = [&](std::int32_t row) {
    return std::vector<Array>{layer.fed, Array{0, row}, numbers};
  };
  CHECK_THROWS_AS(f(with(3)), Error);
  CHECK(test::difference(f(with(2))[0], on("reference")(with(2))[0], 1e-5, 1e-5) == "");
  f(with(2));
  set_value(layer.w, drawn({3, 3, 4, 5}, 6));
  for (const int nth : {1, 2}) control().fail("cuGraphLaunch", nth, 304);  // a call tries twice
  CHECK_THROWS_AS(f(with(2)), Error);
  control().reset();
  CHECK(test::difference(f(with(2))[0], on("reference")(with(2))[0], 1e-5, 1e-5) == "");
}

TEST_CASE("weight copies: memory exhaustion names them") {
  const Layer layer;
  std::string errors;
  for (int nth = 1; nth < 6; ++nth) {
    const Function f = layer.on("cuda");
    for (int i = 0; i < 64; ++i) control().fail("cuMemAllocFromPoolAsync", nth + i, kOutOfMemory);
    try {
      f({layer.fed});
    } catch (const OutOfMemory& error) {
      errors += error.message() + "\n";
    }
    control().reset();
    layer.check(f);
  }
  CHECK_THAT(errors, Catch::Matchers::ContainsSubstring("tensors that depend on variables alone"));
}

TEST_CASE("weight copies: functions that are dropped leave nothing") {
  const Layer layer;
  const auto round = [&](unsigned seed) {
    const Variable w = filter_variable(seed);
    const Function f = function({layer.x}, {conv2d(layer.x, w)}, {.backend = "cuda"});
    f({layer.fed});
    set_value(w, drawn({3, 3, 4, 5}, seed + 1));
    f({layer.fed});
  };
  round(0);
  round(1);
  const FakeCudaUsage before = control().usage();
  for (unsigned i = 0; i < 300; ++i) round(i);
  CHECK(control().usage().bytes == before.bytes);
  CHECK(control().usage().allocations == before.allocations);
}

TEST_CASE("weight copies: threads that call while a variable changes", "[concurrency]") {
  const Layer layer;
  const Function f = layer.on("cuda");
  std::vector<Array> values, wanted;
  for (unsigned seed = 0; seed < 3; ++seed) {
    values.push_back(drawn({3, 3, 4, 5}, seed));
    set_value(layer.w, values.back());
    wanted.push_back(f({layer.fed})[0]);
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) {
        const Array found = f({layer.fed})[0];
        wrong += std::find(wanted.begin(), wanted.end(), found) == wanted.end();
      }
    });
  }
  for (int i = 0; i < 50; ++i) set_value(layer.w, values[static_cast<std::size_t>(i) % 3]);
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}
