// Tests calls as CUDA graphs: when graphs are recorded, and that they compute what launches do.
#include "tests/support/catch.h"
#include "tests/backends/cuda/fake_device.h"
#include "tests/support/environment.h"

#include <kiln/k.h>

using namespace kiln;

namespace {

using cuda_test::control;

/// The number of calls of the driver's function during `action`.
template <class Action>
int calls_during(const char* function, const Action& action) {
  const int before = control().calls(function);
  action();
  return control().calls(function) - before;
}

/// A loop over the placeholder's second dim, with two operations per iteration.
Function running_sum(const std::string& backend) {
  const Tensor x = placeholder({.shape = {1, None, 2}});
  const auto step = [](const Tensor& in, const std::vector<Tensor>& states) {
    const Tensor next = states[0] + in;
    return StepResult{next * 2.0, {next}};
  };
  const RnnResult r = rnn(step, x, {zeros({1, 2})});
  return function({x}, {r.last_output, r.outputs}, {.backend = backend});
}

}  // namespace

TEST_CASE(
    "graphs: the first call launches kernels, the second records, later ones are one launch") {
  control();
  const Tensor x = placeholder({.shape = {None}});
  const Function f = function({x}, {tanh(x) * 2.0, x - sum(x)}, {.backend = "cuda"});
  const Array fed = Array::full({8}, 1);
  const std::vector<Array> first = f({fed});
  for (int call = 0; call < 3; ++call) {
    INFO("call " << call + 2);
    std::vector<Array> found;
    CHECK(calls_during("cuGraphLaunch", [&] { found = f({fed}); }) == 1);
    CHECK(found == first);
  }
  CHECK(calls_during("cuLaunchKernel", [&] { f({fed}); }) == 0);
  CHECK(calls_during("cuGraphInstantiateWithFlags", [&] { f({fed}); }) == 0);
  // Other sizes are other graphs.
  CHECK(calls_during("cuGraphLaunch", [&] { f({Array::full({9}, 1)}); }) == 0);
}

TEST_CASE("graphs: a variable that is updated in place or between two buffers keeps its graphs") {
  control();
  const Variable w = variable(Array::zeros({4}));
  const Tensor x = placeholder({.shape = {4}});
  const Function f = function({x}, {sum(w)}, {.updates = {update(w, w + x)}, .backend = "cuda"});
  const Array one = Array::full({4}, 1);
  for (int call = 0; call < 6; ++call) f({one});
  CHECK(calls_during("cuGraphInstantiateWithFlags", [&] {
          for (int call = 0; call < 6; ++call) f({one});
        }) == 0);
  CHECK(get_value(w) == Array::full({4}, 12));
}

TEST_CASE("graphs: long loops are several graphs, whose results are those of the oracle") {
  control();
  const testing::EnvironmentVariable disable("KILN_DISABLE", "fuse_loops");
  const Function f = running_sum("cuda"), oracle = running_sum("reference");
  Array fed = Array::zeros({1, 5000, 2});
  float next = 0;
  for (float& element : fed.as<float>()) element = (next += 1) / 1024;
  const std::vector<Array> wanted = oracle({fed});
  int launches = 0;
  for (int call = 0; call < 3; ++call) {
    launches = calls_during("cuGraphLaunch", [&] { CHECK(f({fed}) == wanted); });
  }
  CHECK(launches >= 2);
}

TEST_CASE("graphs: a driver that rejects them runs calls kernel by kernel") {
  control();
  const Tensor x = placeholder({.shape = {4}});
  const Array fed = Array::full({4}, 3);
  for (const char* function_name :
       {"cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiateWithFlags"}) {
    INFO(function_name);
    const Function f = function({x}, {x * x + sum(x)}, {.backend = "cuda"});
    const Array wanted = f({fed})[0];
    control().fail(function_name, 1, 801);  // not supported
    for (int call = 0; call < 3; ++call) {
      CHECK(calls_during("cuGraphLaunch", [&] { CHECK(f({fed})[0] == wanted); }) == 0);
    }
    control().reset();
  }
}

TEST_CASE("graphs: an index out of range in a recorded loop is the same error in every call") {
  control();
  const Tensor table = placeholder({.shape = {3, 2}});
  const Tensor indices = placeholder({.shape = {1, None, 1}, .dtype = "int32"});
  const auto step = [&](const Tensor& in, const std::vector<Tensor>& states) {
    const Tensor next = states[0] + gather(table, in);
    return StepResult{next, {next}};
  };
  const RnnResult r = rnn(step, indices, {zeros({1, 1, 2})});
  const Function f = function({table, indices}, {r.last_output}, {.backend = "cuda"});
  const Function cpu = function({table, indices}, {r.last_output}, {.backend = "cpu"});
  const Array values = Array::full({3, 2}, 1);
  const Array good(std::vector<std::int32_t>{0, 2, 1, 1}, {1, 4, 1});
  const Array bad(std::vector<std::int32_t>{0, 7, 1, 9}, {1, 4, 1});
  const auto error_of = [&](const Function& called) {
    try {
      called({values, bad});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const std::string wanted = error_of(cpu);
  CHECK_THAT(wanted, Catch::Matchers::ContainsSubstring("index 7 is outside of an axis of size 3"));
  for (int call = 0; call < 4; ++call) {
    CHECK(error_of(f) == wanted);
    CHECK(f({values, good})[0] == Array::full({1, 1, 2}, 4));
  }
}
