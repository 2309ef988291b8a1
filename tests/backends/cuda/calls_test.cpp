// Tests calls on the fake device: launches, memory, and variables that stay on the device.
#include "tests/support/catch.h"
#include "tests/backends/cuda/fake_device.h"

#include <kiln/k.h>

#include <cmath>

using namespace kiln;

namespace {

using cuda_test::control;

Array counting(std::vector<std::int64_t> dims) {
  Array array = Array::zeros(std::move(dims));
  float next = 0;
  for (float& element : array.as<float>()) element = std::sin(next += 1);
  return array;
}

/// The copies between host and device of a later call of a function without inputs and outputs.
int copies_of_call(const std::vector<UpdateOp>& updates) {
  const Function f = function({}, {}, {.updates = updates, .backend = "cuda"});
  f(std::vector<Array>{});
  const auto copies = [] {
    return control().calls("cuMemcpyHtoDAsync") + control().calls("cuMemcpyDtoHAsync");
  };
  const int before = copies();
  f(std::vector<Array>{});
  return copies() - before;
}

}  // namespace

TEST_CASE("calls: one kernel from a placeholder and a variable to a result") {
  control();
  const Tensor x = placeholder({.shape = {None, 3}});
  const Variable b = variable(Array{1.f, -2.f, 0.5f});
  const Function f = function({x}, {tanh(x + b)}, {.backend = "cuda"});
  CHECK(f.backend() == "cuda");
  const int launches = control().calls("cuLaunchKernel");
  const Array y = f({counting({4, 3})})[0];
  CHECK(control().calls("cuLaunchKernel") == launches + 1);
  CHECK(y.as<float>()[0] == Approx(std::tanh(std::sin(1.) + 1)));
  CHECK(y.as<float>()[11] == Approx(std::tanh(std::sin(12.) + 0.5)));
  CHECK(f({counting({0, 3})})[0].dims()[0] == 0);
  CHECK(f({counting({9, 3})})[0].dims()[0] == 9);
}

TEST_CASE("calls: seed and index errors are copied only for kernels that use them") {
  control();
  const Variable a = variable(Array::zeros({3}));
  CHECK(copies_of_call({update_add(a, 1.0)}) == 0);
  CHECK(copies_of_call({update(a, random_uniform({3}))}) == 1);
  const Variable rows = variable(Array::zeros({4, 3}));
  const Variable index = variable(Array::full({1}, 2, DType::Int32), {.dtype = "int32"});
  const Tensor row = sum(gather(rows, index), {.axis = 0});
  CHECK(copies_of_call({update_add(a, row)}) == 1);
  CHECK(copies_of_call({update_add(a, row * random_uniform({3}))}) == 2);
  const StepFunction step = [&](const Tensor& at, const std::vector<Tensor>& states) {
    const Tensor next = states[0] + gather(rows, at);
    return StepResult{next, {next}};
  };
  const RnnResult loop = rnn(step, zeros({1, 5, 1}, {.dtype = "int32"}), {zeros({1, 1, 3})});
  CHECK(copies_of_call({update(a, reshape(loop.new_states[0], {3}))}) == 1);
}
