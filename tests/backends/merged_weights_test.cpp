// Tests weights of gates that are merged for one matmul: calls read the variables' current values.
#include "tests/support/catch.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <cmath>

using namespace kiln;

namespace {

/// A loop of three gates; their recurrent weights are variables.
Tensor gates(const Tensor& x, const std::vector<Tensor>& weights) {
  const StepFunction step = [&](const Tensor& input, const std::vector<Tensor>& states) {
    const auto gate = [&](std::size_t i) { return dot(states[0], weights[i]) + input; };
    const Tensor next = sigmoid(gate(0)) * tanh(gate(1)) + sigmoid(gate(2)) * states[0];
    return StepResult{next, {next}};
  };
  return rnn(step, x, {sum(x, {.axis = 1}) * 0.1}).outputs;
}

}  // namespace

TEST_CASE("merged weights: each call reads the current values of the variables") {
  constexpr std::int64_t kUnits = 24;
  std::vector<Tensor> weights;
  for (int i = 0; i < 3; ++i) {
    weights.push_back(random_uniform_variable({kUnits, kUnits}, -0.3, 0.3, {.seed = i}));
  }
  const Tensor x = placeholder({.shape = {None, None, kUnits}});
  const Tensor y = gates(x, weights);
  const Function plain = function({x}, {y}, {.backend = "reference"});
  const Function fast = function({x}, {y}, {.backend = "cpu"});
  for (int call = 0; call < 12; ++call) {
    INFO("call " << call);
    const std::vector<std::int64_t> dims{call % 4 < 2 ? 3 : 40, 5, kUnits};
    const Array fed = Array::full(dims, 0.1 * call);
    const Array want = plain({fed})[0], found = fast({fed})[0];
    REQUIRE(found.size() == want.size());
    for (std::size_t i = 0; i < static_cast<std::size_t>(found.size()); ++i) {
      REQUIRE(std::abs(found.as<float>()[i] - want.as<float>()[i]) < 1e-5f);
    }
    if (call % 2 == 0) continue;
    const Tensor& changed = weights[static_cast<std::size_t>(call) % 3];
    set_value(changed, Array::full({kUnits, kUnits}, 0.01 * call - 0.05));
  }
  const testing::Scratch scratch;
  fast.dump(scratch.path("f"), Stage::MemoryPlan);
  const std::string plan = testing::contents_of(scratch.path("f/53-memory_plan-sizes_1.txt"));
  INFO(plan);
  CHECK(plan.find("runs when one of %") != plan.npos);
}

TEST_CASE("folded filters: scaled convolutions read the current values of the variables") {
  const Tensor filter = random_uniform_variable({3, 3, 2, 4}, -0.3, 0.3, {.seed = 1});
  std::vector<Tensor> parts;  // mean, var, beta, gamma
  for (int i = 0; i < 4; ++i) {
    parts.push_back(random_uniform_variable({4}, 0.5, 1, {.seed = i + 2}));
  }
  const Tensor x = placeholder({.shape = {2, 6, 6, 2}});
  const Tensor y =
      relu(batch_normalization(conv2d(x, filter), parts[0], parts[1], parts[2], parts[3]),
           {.max_value = 1});
  const Function plain = function({x}, {y}, {.backend = "reference"});
  const Function fast = function({x}, {y}, {.backend = "cpu"});
  parts.push_back(filter);
  for (int call = 0; call < 10; ++call) {
    INFO("call " << call);
    const Array fed = Array::full({2, 6, 6, 2}, 0.1 * call + 0.1);
    const Array want = plain({fed})[0], found = fast({fed})[0];
    for (std::size_t i = 0; i < static_cast<std::size_t>(found.size()); ++i) {
      REQUIRE(std::abs(found.as<float>()[i] - want.as<float>()[i]) < 1e-5f);
    }
    if (call % 2 == 0) continue;
    const Tensor& changed = parts[static_cast<std::size_t>(call / 2)];
    Array halved = get_value(changed);
    for (float& value : halved.as<float>()) value *= 0.5f;
    set_value(changed, halved);
  }
  const testing::Scratch scratch;
  fast.dump(scratch.path("f"), Stage::Plan | Stage::MemoryPlan);
  const std::string plan = testing::contents_of(scratch.path("f/52-plan.txt"));
  INFO(plan);
  CHECK(plan.find(", relu up to 1") != plan.npos);
  const std::string memory = testing::contents_of(scratch.path("f/53-memory_plan-sizes_1.txt"));
  INFO(memory);
  CHECK(memory.find("runs when one of %") != memory.npos);
}

TEST_CASE("merged filters: transposed convolutions read the current values of the variables") {
  const Tensor first = random_uniform_variable({3, 3, 2, 4}, -0.3, 0.3, {.seed = 1});
  const Tensor second = random_uniform_variable({3, 3, 3, 4}, -0.3, 0.3, {.seed = 2});
  const Tensor x = placeholder({.shape = {2, 6, 6, 4}});
  const Tensor y = conv2d_transpose(x, concatenate({first, second}, {.axis = 2}), {2, 8, 8, 5});
  const Function plain = function({x}, {y}, {.backend = "reference"});
  const Function fast = function({x}, {y}, {.backend = "cpu"});
  for (int call = 0; call < 4; ++call) {
    INFO("call " << call);
    const Array fed = Array::full({2, 6, 6, 4}, 0.1 * call + 0.1);
    const Array want = plain({fed})[0], found = fast({fed})[0];
    for (std::size_t i = 0; i < static_cast<std::size_t>(found.size()); ++i) {
      REQUIRE(std::abs(found.as<float>()[i] - want.as<float>()[i]) < 1e-5f);
    }
    if (call % 2 == 1) set_value(second, Array::full({3, 3, 3, 4}, 0.05 * call));
  }
  const testing::Scratch scratch;
  fast.dump(scratch.path("f"), Stage::MemoryPlan);
  const std::string plan = testing::contents_of(scratch.path("f/53-memory_plan-sizes_1.txt"));
  INFO(plan);
  CHECK(plan.find("runs when one of %") != plan.npos);
}
