// Tests reductions that many blocks of one launch divide: their counters and partial results in
// poisoned memory, in repeated calls, in graphs and in loops.
#include "tests/support/catch.h"
#include "tests/backends/cuda/fake_device.h"

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

/// Small whole numbers, whose sums are exact in any order.
Array numbers(std::vector<std::int64_t> dims, int seed) {
  Array result = Array::zeros(dims);
  int next = seed;
  for (float& element : result.as<float>()) {
    next = (next * 73 + 41) % 1009;
    element = static_cast<float>(next % 15 - 7);
  }
  return result;
}

}  // namespace

TEST_CASE("divided reductions: a call of any size is one launch") {
  control();
  const Tensor x = placeholder({.shape = {None}});
  const std::vector<Tensor> results{sum(x), max(x), argmax(x)};
  const Function f = function({x}, results, {.backend = "cuda"});
  const Function oracle = function({x}, results, {.backend = "reference"});
  for (const std::int64_t size : {100000, 40, 30000}) {
    INFO(size);
    for (int call = 0; call < 4; ++call) {
      const Array fed = numbers({size}, call);
      const std::vector<Array> wanted = oracle({fed});
      const int launches = calls_during("cuLaunchKernel", [&] { CHECK(f({fed}) == wanted); });
      CHECK(launches == 1);
    }
  }
}

TEST_CASE("divided reductions: several in one call and in a loop share their counters") {
  control();
  const Tensor x = placeholder({.shape = {3, None, 20000}});
  const auto step = [](const Tensor& in, const std::vector<Tensor>& states) {
    const Tensor next = states[0] + sum(in, {.axis = -1, .keepdims = true});
    return StepResult{next, {next}};
  };
  const RnnResult r = rnn(step, x, {zeros({3, 1})});
  const std::vector<Tensor> results{r.last_output, r.outputs, max(x, {.axis = {0, 1}}), sum(x)};
  const Function f = function({x}, results, {.backend = "cuda"});
  const Function oracle = function({x}, results, {.backend = "reference"});
  for (const std::int64_t steps : {5, 1, 3}) {
    INFO(steps);
    const Array fed = numbers({3, steps, 20000}, 7);
    const std::vector<Array> wanted = oracle({fed});
    for (int call = 0; call < 4; ++call) CHECK(f({fed}) == wanted);
  }
}
